import { eventually, type World } from '../../test/helpers/process'
import { statusOf, untilStatus } from '../../test/helpers/singleton'
import { inWorld } from '../in-world'
import { Ledger } from './ledger'
import { Member } from './member'

export interface StartsOptions {
  count: number
  /** How many tickets are left pending when everybody leaves: any at all, and a successor must stay for them. */
  pending: number
}

/** Processes that start at one instant: one daemon, and clients of it. When they leave together, what stays is what is waited for. */
export const startTogether = ({ count, pending }: StartsOptions): Promise<{ broken: string[], readyMs: number[] }> => inWorld(async world => {
  const ledger = new Ledger()
  const broken: string[] = []
  const members = Array.from({ length: count }, (_, i) => new Member(world, `starter-${i}`, ledger))
  const asked = await Promise.all(members.map(async member => (await member.hello()).ask()))

  const status = await statusOf(world)
  const places = [status.pid, ...status.clients?.map(({ pid }) => pid) ?? []].toSorted()
  if (String(places) !== String(members.map(({ pid }) => pid).toSorted())) broken.push(`${places.length} of ${count} processes have a place`)
  for (const reply of asked.slice(pending)) if (reply !== undefined) await settle(world, ledger, reply.id)

  for (const member of members) member.leave()
  for (const { running } of members) {
    const { code, stderr } = await running.finished
    if (code !== 0) broken.push(`Process ${running.pid} ended with ${code}: ${stderr}`)
  }
  broken.push(...await leavings(world, pending))
  const log = await ledger.check(world)
  broken.push(...members.flatMap(member => member.broken), ...log.broken)
  return { broken, readyMs: asked.flatMap((reply, i) => reply === undefined ? [] : [reply.at - members[i]!.running.started]) }
})

async function settle (world: World, ledger: Ledger, id: string): Promise<void> {
  const { status } = await world.api('/api/answer', { id, answer: 'yes' })
  if (status === 200) ledger.answered(id, 'yes')
  else throw new Error(`Answering ${id} gave ${status}`)
}

/** One successor while something is pending, which `stop` ends; otherwise nobody. */
async function leavings (world: World, pending: number): Promise<string[]> {
  if (pending > 0) {
    const { pid, pending: kept } = await untilStatus(world, ({ lingering }) => lingering === true, 'a successor')
    if (kept !== pending) return [`${pending} tickets were left pending, and the successor has ${kept}`]
    const alive = world.alive()
    if (String(alive) !== String(pid)) return [`Beside the successor ${pid} there live ${alive.join(', ')}`]
    const { code, stderr } = await world.run(['stop'])
    if (code !== 0) return [`stop failed: ${stderr}`]
  }
  await eventually(() => world.alive().length === 0 || undefined, 'every process to end')
  return []
}
