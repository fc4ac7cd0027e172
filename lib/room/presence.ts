import type { RoomAgent } from '../../schemas/room'

/** How long after its last sign of life an agent is taken to be at work, and how long not to have gone, in milliseconds. */
const WORKING_MS = 2 * 60_000
const GONE_MS = 30 * 60_000

/** Who was last heard of when, in each room, since this process began. */
export class RoomPresence {
  readonly #seen = new Map<string, Map<string, number>>()

  /** A sign of life: a call, a watcher's frame, a hook. `at` is in milliseconds since 1970. */
  note (room: string, agent: string, at: number): void {
    const agents = this.#seen.get(room)
    if (agents === undefined) this.#seen.set(room, new Map([[agent, at]]))
    else agents.set(agent, at)
  }

  statusOf (room: string, agent: string, now: number): Pick<RoomAgent, 'status' | 'last_seen'> {
    const at = this.#seen.get(room)?.get(agent)
    if (at === undefined) return { status: 'gone' }
    const silent = now - at
    return { status: silent < WORKING_MS ? 'working' : silent < GONE_MS ? 'idle' : 'gone', last_seen: new Date(at).toISOString() }
  }
}
