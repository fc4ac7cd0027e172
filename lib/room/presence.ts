import type { RoomAgent } from '../../schemas/room'

/** How long after its last sign of life an agent is taken to be at work, and how long not to have gone, in milliseconds. */
const WORKING_MS = 2 * 60_000
const GONE_MS = 30 * 60_000

interface Seen {
  /** When it last called a tool: only that is work. */
  called?: number
  /** When anything was last heard of it: a hook, a watcher. */
  heard?: number
  /** How many streams it holds open. */
  watching: number
}

/** Who was last heard of when, in each room, since this process began. Times are in milliseconds since 1970. */
export class RoomPresence {
  readonly #seen = new Map<string, Map<string, Seen>>()

  /** A call: it is at work. */
  note (room: string, agent: string, at: number): void {
    Object.assign(this.#of(room, agent), { called: at, heard: at })
  }

  /** A hook, or a look at what is unread: it is there. */
  glimpse (room: string, agent: string, at: number): void {
    this.#of(room, agent).heard = at
  }

  /** A watcher: it is there for as long as its stream is open. Returns what to call when it is not any more. */
  watch (room: string, agent: string, now: () => number): () => void {
    const seen = this.#of(room, agent)
    seen.watching++
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      seen.watching--
      seen.heard = now()
    }
  }

  statusOf (room: string, agent: string, now: number): Pick<RoomAgent, 'status' | 'last_seen'> {
    const seen = this.#seen.get(room)?.get(agent)
    if (seen === undefined) return { status: 'gone' }
    const heard = seen.watching > 0 ? now : seen.heard ?? 0
    const isWorking = seen.called !== undefined && now - seen.called < WORKING_MS
    return { status: isWorking ? 'working' : now - heard < GONE_MS ? 'idle' : 'gone', last_seen: new Date(heard).toISOString() }
  }

  /** Of whom in a room something was heard since a time. */
  heardSince (room: string, time: number): string[] {
    return [...this.#seen.get(room) ?? []].filter(([, { heard = 0, watching }]) => watching > 0 || heard >= time).map(([agent]) => agent)
  }

  #of (room: string, agent: string): Seen {
    const agents = this.#seen.get(room) ?? new Map<string, Seen>()
    this.#seen.set(room, agents)
    const seen = agents.get(agent) ?? { watching: 0 }
    agents.set(agent, seen)
    return seen
  }
}
