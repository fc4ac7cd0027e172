import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { ROOT } from '../helpers/room'
import type { Told } from '../helpers/claimer-child'
import { createWorld } from '../helpers/process'

const PROCESSES = 5
const AGENTS = 10
/** As many as there is time for, and at least so many. */
const ROUNDS = { least: 10, most: 40, ms: 12_000 }
const OWNER = 'the-owners-token-of-some-length'

/** A process of agents. Each call is one round. */
function claimers (t: Test, url: string, tokens: string[]): (task: number) => Promise<Told[]> {
  const child = spawn(process.execPath, [`--import=${ROOT}ts-hooks.mjs`, `${ROOT}test/helpers/claimer-child.ts`, url, ...tokens],
    { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(async () => {
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return async task => {
    child.stdin.write(`${task}\n`)
    const { value, done } = await lines.next()
    if (done === true) throw new Error('A process of claimers has ended')
    return JSON.parse(value) as Told[]
  }
}

t.test(`of ${PROCESSES * AGENTS} agents in ${PROCESSES} processes that claim one task at once one has it, round after round`, { timeout: 100_000 }, async t => {
  const world = await createWorld(t)
  await world.start(['serve'], { env: { READYROOM_TOKEN: OWNER, READYROOM_ADMIN_API: 'on' } }).opened()

  async function post<T> (path: string, body: object, token = OWNER): Promise<T> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const response = await fetch(`${world.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return await response.json() as T
  }
  await post('/v1/admin/init', {})
  const names = Array.from({ length: PROCESSES * AGENTS }, (_, n) => `w${n}`)
  const tokens = await Promise.all(names.map(async agent => (await post<{ token: string }>('/v1/admin/add-token', { agent, room: 'main' })).token))
  const groups = Array.from({ length: PROCESSES }, (_, n) => claimers(t, world.url, tokens.slice(n * AGENTS, (n + 1) * AGENTS)))

  const winners = new Set<string>()
  const began = performance.now()
  let round = 0
  for (; round < ROUNDS.least || (round < ROUNDS.most && performance.now() - began < ROUNDS.ms); round++) {
    const { id } = await post<{ id: number }>('/v1/tasks', { title: `round ${round}` }, tokens[round])
    const told = (await Promise.all(groups.map(async (claim, group) =>
      (await claim(id)).map(one => ({ ...one, name: names[group * AGENTS + one.agent]! }))))).flat()
    const won = told.filter(({ status }) => status === 200)
    t.equal(won.length, 1, `round ${round}: ${won.map(({ name }) => name).join(', ')}`)
    const [{ name, owner }] = won as [(typeof won)[0]]
    t.equal(owner, name)
    const lost = told.filter(({ status }) => status !== 200)
    t.strictSame(lost.filter(({ status, error }) => status !== 409 || error !== 'TASK_NOT_OWNED'), [], 'the others are told who has it, and nothing else')
    const response = await fetch(`${world.url}/v1/task?task_id=${id}`, { headers: { authorization: `Bearer ${tokens[0]}` } })
    t.match(await response.json(), { owner: name, status: 'in_progress', version: 2 }, 'one change, and the winner still has it')
    winners.add(name)
  }
  const response = await fetch(`${world.url}/v1/events?kind=task_claimed&limit=500`, { headers: { authorization: `Bearer ${tokens[0]}` } })
  const { events } = await response.json() as { events: Array<{ task_id: number }> }
  t.strictSame(events.map(({ task_id: id }) => id), Array.from({ length: round }, (_, n) => n + 1))
  t.ok(winners.size > 1, 'it was a race')
})
