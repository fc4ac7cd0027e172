import type { AdminInput, AdminName, AdminOutput } from '../../schemas/admin'
import type { Reachable } from './worker-client'
import { post } from './worker-client'

/** Administers the rooms of a Worker, with the owner's secret. */
export async function administer<N extends AdminName> (worker: Reachable, name: N, input: AdminInput<N>): Promise<AdminOutput<N>> {
  const response = await post(worker, `/v1/admin/${name}`, input)
  if (response.status !== 200) throw new Error(`${name}: ${response.status} ${await response.text()}`)
  return response.json() as Promise<AdminOutput<N>>
}

/** Mints a token, in the room `main` unless it says otherwise. */
export async function mint (worker: Reachable, agent: string, more: Partial<AdminInput<'add-token'>> = {}): Promise<string> {
  await administer(worker, 'init', {})
  const input = { agent, room: 'main', ...more }
  for (const room of [input.room, ...input.also ?? []]) await administer(worker, 'add-room', { room })
  return (await administer(worker, 'add-token', input)).token
}
