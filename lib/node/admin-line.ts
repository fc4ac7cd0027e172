import type { AdminInput, AdminName } from '../../schemas/admin'
import { timeOf } from '../iso-time'

/** One thing to administer, as the command line says it. */
export type AdminCall = { [N in AdminName]: { name: N, input: AdminInput<N> } }[AdminName]

export const ADMIN_SWITCHES = {
  agent: { type: 'string' },
  room: { type: 'string' },
  also: { type: 'string', multiple: true },
  readonly: { type: 'boolean' },
  approver: { type: 'boolean' },
  admin: { type: 'boolean' },
  'all-rooms': { type: 'boolean' },
  expires: { type: 'string' },
  revoked: { type: 'boolean' },
  id: { type: 'string' },
  'older-than': { type: 'string' },
  days: { type: 'string' },
  confirm: { type: 'string' },
  format: { type: 'string' }
} as const

export interface AdminValues {
  agent?: string | undefined
  room?: string | undefined
  also?: string[] | undefined
  readonly?: boolean | undefined
  approver?: boolean | undefined
  admin?: boolean | undefined
  'all-rooms'?: boolean | undefined
  expires?: string | undefined
  revoked?: boolean | undefined
  id?: string | undefined
  'older-than'?: string | undefined
  days?: string | undefined
  confirm?: string | undefined
  format?: string | undefined
}

type Flag = keyof typeof ADMIN_SWITCHES

/** The flags of each, and how many words may stand behind it. A word stands for the first flag that is not set. */
const FORMS: { [N in AdminName]: { flags: Flag[], words: number } } = {
  init: { flags: [], words: 0 },
  'add-room': { flags: ['room'], words: 1 },
  'add-token': { flags: ['agent', 'room', 'also', 'readonly', 'approver', 'admin', 'all-rooms', 'expires'], words: 0 },
  list: { flags: ['revoked'], words: 0 },
  revoke: { flags: ['agent', 'id'], words: 1 },
  purge: { flags: ['older-than'], words: 0 },
  retention: { flags: ['room', 'days'], words: 2 },
  'delete-room': { flags: ['room', 'confirm'], words: 1 },
  alias: { flags: ['room', 'agent'], words: 1 },
  backup: { flags: [], words: 1 },
  export: { flags: ['room', 'format'], words: 1 }
}

const isAdminName = (word: string): word is AdminName => Object.hasOwn(FORMS, word)

/**
 * What stands behind `readyroom admin`. A room that is to be deleted without `--confirm` is given back unconfirmed: on a
 * terminal it is asked for.
 * @throws Error whose message says what is wrong with it
 */
export function readAdminCall ([name, ...words]: readonly string[], values: AdminValues, now: number = Date.now()): AdminCall {
  const names = Object.keys(FORMS).join(', ')
  if (name === undefined) throw new Error(`Behind admin stands what to do, one of ${names}`)
  if (!isAdminName(name)) throw new Error(`There is nothing called ${JSON.stringify(name.slice(0, 100))} behind admin; there are ${names}`)
  const form = FORMS[name]
  for (const flag of Object.keys(ADMIN_SWITCHES) as Flag[]) {
    if (values[flag] !== undefined && !form.flags.includes(flag)) throw new Error(`--${flag} does not go with admin ${name}`)
  }
  if (words.length > form.words) throw new Error(`Too many words behind admin ${name}: ${JSON.stringify(words[form.words]!.slice(0, 100))}`)
  const next = (given: string | undefined, what: string): string => {
    const value = given ?? words.shift()
    if (value === undefined) throw new Error(`admin ${name} needs ${what}`)
    return value
  }
  switch (name) {
    case 'init': return { name, input: {} }
    case 'add-room': return { name, input: { room: next(values.room, 'the name of a room') } }
    case 'add-token': return { name, input: tokenOf(values, now) }
    case 'list': return { name, input: values.revoked ? { revoked: true } : {} }
    case 'revoke': {
      if (values.id !== undefined) return { name, input: { id: numberOf(values.id, '--id', 1) } }
      return { name, input: { agent: next(values.agent, 'an agent, or --id with the number of one token') } }
    }
    case 'purge': {
      const days = values['older-than']
      return { name, input: days === undefined ? {} : { older_than_days: numberOf(days.replace(/d$/, ''), '--older-than', 0) } }
    }
    case 'retention': {
      const room = next(values.room, 'the name of a room')
      return { name, input: { room, days: numberOf(next(values.days, 'a number of days; 0 keeps everything'), '--days', 0, 36_500) } }
    }
    case 'delete-room': return { name, input: { room: next(values.room, 'the name of a room'), confirm: values.confirm ?? '' } }
    case 'alias': {
      const room = next(values.room, '--room')
      const alias = next(undefined, 'the other name')
      return { name, input: { room, alias, ...(values.agent !== undefined && { agent: values.agent }) } }
    }
    case 'backup': return { name, input: { file: next(undefined, 'a file to write') } }
    case 'export': return { name, input: { room: next(values.room, 'the name of a room'), ...(values.format !== undefined && { format: formatOf(values.format) }) } }
  }
}

function tokenOf (values: AdminValues, now: number): AdminInput<'add-token'> {
  const { agent, room, also, readonly, approver, admin, 'all-rooms': everywhere, expires } = values
  if (agent === undefined || room === undefined) throw new Error('admin add-token needs --agent NAME and --room ROOM')
  const roles = ([[readonly, 'observer'], [approver, 'approver'], [admin, 'admin']] as const).flatMap(([wanted, role]) => wanted ? [role] : [])
  if (roles.length > 1) throw new Error('--readonly, --approver and --admin go one at a time: a token is of one kind')
  return {
    agent,
    room,
    ...(also !== undefined && { also }),
    ...(roles[0] !== undefined && { role: roles[0] }),
    ...(everywhere && { all_rooms: true }),
    ...(expires !== undefined && { expires_at: readExpiry(expires, now) })
  }
}

const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 }

/** A duration from now, such as 30d or 12h, or a time, ISO 8601. Returns ISO 8601. @throws Error */
export function readExpiry (text: string, now: number): string {
  const [, amount, unit] = /^(\d{1,6})([mhdw])$/.exec(text.trim()) ?? []
  const time = amount === undefined ? timeOf(text.trim()) : now + Number(amount) * UNITS[unit as keyof typeof UNITS]
  if (!(time > now) || time > 8.64e15) {
    throw new Error(`--expires is ${JSON.stringify(text.slice(0, 100))}: it must be a time to come, such as 30d, 12h or 2027-01-31T09:30:00Z`)
  }
  return new Date(time).toISOString()
}

function numberOf (text: string, flag: string, min: number, max = 1e9): number {
  const value = /^\d{1,10}$/.test(text.trim()) ? Number(text) : NaN
  if (!(value >= min && value <= max)) throw new Error(`${flag} is ${JSON.stringify(text.slice(0, 100))}: it must be a whole number from ${min}${max === 1e9 ? '' : ` to ${max}`}`)
  return value
}

function formatOf (text: string): 'jsonl' | 'md' {
  if (text !== 'jsonl' && text !== 'md') throw new Error(`--format is ${JSON.stringify(text.slice(0, 100))}: it must be jsonl or md`)
  return text
}
