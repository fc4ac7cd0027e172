import type { CallHead, CommandName, InputOf } from '../../lib/room/store'
import { registryStub, roomStub, type RoomsEnv } from '../../worker/rooms/objects'
import { RoomObjectsStore } from '../../worker/rooms/room-objects-store'

// What runs inside workerd beside a room whose alarm can be seen: what a test does in it.

/** See looking-room. */
interface Looking { look (query: string): Promise<unknown> }

/** One step of a test: a command at a time, by somebody; or a look. */
export type Step =
  | { name: CommandName, input: unknown, who?: string, now: number, key?: string, token?: number }
  | { look: string }

export class HouseObject {
  readonly #env: RoomsEnv

  constructor (_ctx: unknown, env: RoomsEnv) {
    this.#env = env
  }

  async fetch (request: Request): Promise<Response> {
    const { room, steps } = await request.json() as { room: string, steps: Step[] }
    const kept = new Map<string, unknown>()
    const store = new RoomObjectsStore({
      queue: 'queue',
      room: name => roomStub(this.#env, 'queue', name),
      registry: () => registryStub(this.#env, 'queue'),
      since: async () => [],
      notes: {
        get: <T>(name: string) => kept.get(name) as T | undefined,
        put (name, value) { kept.set(name, structuredClone(value)) },
        delete (name) { kept.delete(name) }
      }
    })
    let last: unknown
    for (const step of steps) {
      if ('look' in step) last = await (roomStub(this.#env, 'queue', room) as unknown as Looking).look(step.look)
      else {
        const { name, input, who = 'system', now, ...more } = step
        const actor = who === 'system' ? { name: who, kind: 'system', admin: true } as const : { name: who, kind: 'agent', admin: false } as const
        last = (await store.run(name, { actor, room, now, ...more } satisfies CallHead, input as InputOf<CommandName>)).result
      }
    }
    return Response.json(last ?? null)
  }
}

interface Env { QUEUE: { get (id: unknown): { fetch (request: Request): Promise<Response> }, idFromName (name: string): unknown } }

export default {
  fetch: (request: Request, { QUEUE }: Env) => QUEUE.get(QUEUE.idFromName('house')).fetch(request)
}
