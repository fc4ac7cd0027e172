/** An event of the room, as far as it is looked at here. */
export interface NewsEvent {
  id: number
  at: string
  actor: string
  actor_kind: string
  kind: string
  message_id?: number
  task_id?: number
  file_id?: number
  ticket_id?: string
  body?: string
  concerns?: string[]
}

export interface News {
  room: string
  agent: string
  unread: number
  through: number
  events: NewsEvent[]
}

/** A name of an agent or a room. */
export const isName = (text: unknown): text is string => typeof text === 'string' && /^[a-z0-9][a-z0-9._-]{0,39}$/.test(text)

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** What the server says is unread; undefined where something else has answered. Nothing is taken over unseen. */
export function readNews (value: unknown): News | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { room, agent, unread, through, events } = value as Record<string, unknown>
  if (!isName(room) || !isName(agent) || !isCount(unread) || !isCount(through) || !Array.isArray(events)) return undefined
  const read = events.map(readEvent)
  return read.includes(undefined) ? undefined : { room, agent, unread, through, events: read as NewsEvent[] }
}

/** One event; undefined where it is none. */
export function readEvent (value: unknown): NewsEvent | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { id, at, actor, actor_kind: actorKind, kind, body, concerns, ...about } = value as Record<string, unknown>
  const { message_id: message, task_id: task, file_id: file, ticket_id: ticket } = about
  if (!isCount(id) || typeof at !== 'string' || !/^[\dTZ:.+-]{1,40}$/.test(at)) return undefined
  if (typeof actor !== 'string' || actor.length > 200 || typeof actorKind !== 'string' || !isWord(actorKind) || !isWord(kind)) return undefined
  return {
    id,
    at,
    actor,
    actor_kind: actorKind,
    kind,
    ...(isCount(message) && { message_id: message }),
    ...(isCount(task) && { task_id: task }),
    ...(isCount(file) && { file_id: file }),
    ...(typeof ticket === 'string' && /^[\w-]{1,64}$/.test(ticket) && { ticket_id: ticket }),
    ...(typeof body === 'string' && { body }),
    ...(Array.isArray(concerns) && { concerns: concerns.filter(isName) })
  }
}

const isWord = (text: unknown): text is string => typeof text === 'string' && /^[a-z_]{1,40}$/.test(text)

/**
 * JSON in which no character ends a line, moves a cursor, turns the direction of what follows or cannot be seen. The mark
 * that makes a sign an emoji is left.
 */
export function quote (value: unknown): string {
  return JSON.stringify(value).replace(/(?!\ufe0f)[\u007f-\u009f\u2028\u2029\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, letter =>
    Array.from({ length: letter.length }, (_, at) => `\\u${letter.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''))
}

/** The names of who did it, each once; whoever has no plain name is left unnamed. */
export function namesIn (events: readonly NewsEvent[], most = 5): string {
  const names = [...new Set(events.map(({ actor }) => actor).filter(isName))]
  if (names.length === 0) return 'somebody'
  return names.length > most ? `${names.slice(0, most).join(', ')} and ${names.length - most} more` : names.join(', ')
}
