import { createEntry } from './entry'
import { LOG } from './log'
import type { QueueObject } from './queue-object'
import { hasRooms, type RoomsEnv } from './rooms/objects'
import { readSettings, type SettingsEnv } from './settings'

export { QueueObject } from './queue-object'
export { RegistryObject } from './rooms/registry-object'
export { RoomObject } from './rooms/room-object'

interface Env extends SettingsEnv, Partial<RoomsEnv> { QUEUE: DurableObjectNamespace<QueueObject> }

const queueOf = (env: Env): DurableObjectStub<QueueObject> => env.QUEUE.get(env.QUEUE.idFromName(readSettings(env).queue))

let entry: ReturnType<typeof createEntry> | undefined

/** Made with the first request: before that, a Worker may neither draw random numbers nor read its settings. */
function entryOf (env: Env): ReturnType<typeof createEntry> {
  entry ??= createEntry({ settings: readSettings(env), queue: request => queueOf(env).fetch(request), hasRooms: hasRooms(env), log: LOG })
  return entry
}

/** A setting that cannot be used closes every door, and the log says which one it is. */
function closed (err: unknown): Response {
  LOG.error({ err }, 'Ready Room cannot start')
  return new Response('Ready Room is not set up rightly; its log says how.\n', { status: 503, headers: { 'content-type': 'text/plain; charset=utf-8' } })
}

export default {
  async fetch (request, env) {
    try {
      return await (await entryOf(env)).fetch(request)
    } catch (err) {
      return closed(err)
    }
  },

  /** An optional Cron Trigger: see wrangler.toml. */
  async scheduled (_event, env) {
    await queueOf(env).expireDue()
  }
} satisfies ExportedHandler<Env>
