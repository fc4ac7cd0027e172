import type { Ticket } from '../../schemas/ticket'
import type { Form, Proof, ProofOptions } from '../harness'
import { ATTACKS, type Attack } from './attacks'
import { Daemon } from './daemon'
import { smuggle } from './smuggling'
import { Sockets } from './sockets'

const AMOUNTS: Record<Form, { ms: number, connections: number, idle: number, atOnce: number }> = {
  short: { ms: 1_000, connections: 50, idle: 300, atOnce: 8 },
  long: { ms: 30_000, connections: 500, idle: 10_000, atOnce: 32 }
}
/** The most that the daemon may have resident at any time, in MiB. */
const MOST_MIB: Record<Form, number> = { short: 600, long: 1_000 }
/** How long a call of somebody else may take meanwhile, at the 99th percentile: so many milliseconds, and so many times as long as undisturbed. */
const SLOWEST = { ms: 2_000, times: 20 }

interface Calls { times: number[], failures: string[] }

/** Asks and answers, one ticket after the other, until it is over. */
async function work (daemon: Daemon, over: AbortSignal, length = 200): Promise<Calls> {
  const calls: Calls = { times: [], failures: [] }
  const post = async (path: string, body: object): Promise<unknown> => {
    const response = await fetch(daemon.origin + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: daemon.origin },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(30_000)
    })
    if (response.status !== 200) throw new Error(`${path}: ${response.status}`)
    return response.json()
  }
  while (!over.aborted || calls.times.length === 0) {
    const start = performance.now()
    try {
      const args = { question: 'Go on?', context: 'x'.repeat(length) }
      const asked = await post('/mcp/good', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ask_human', arguments: args } })
      const { id } = (asked as { result: { structuredContent: Ticket } }).result.structuredContent
      await post('/api/answer', { id, answer: 'yes' })
      calls.times.push(performance.now() - start)
    } catch (err) {
      calls.failures.push(`${(err as Error).message} ${String((err as Error).cause ?? '')}`)
      if (calls.failures.length > 10) break
    }
  }
  return calls
}

const at = (times: number[], share: number): number =>
  times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))] ?? NaN

/** How long an attack lasts, over how many connections, and how long the tickets of somebody else are meanwhile. */
interface Strength { ms: number, count: number, length: number }

/** One attack: what it came to, and how somebody else fared. */
async function underAttack (daemon: Daemon, attack: Attack, { ms, count, length }: Strength): Promise<Calls & { remark: string }> {
  const sockets = new Sockets(daemon.port)
  const over = new AbortController()
  const timer = setTimeout(() => over.abort(), ms)
  try {
    const [calls, remark] = await Promise.all([work(daemon, over.signal, length), attack({ daemon, sockets, count, over: over.signal })])
    const said = [...sockets.said].map(([status, times]) => `${times} of ${status}`).join(', ')
    return { ...calls, remark: `${remark}, ${sockets.ended} ended by the daemon${said && `, told ${said}`}` }
  } finally {
    clearTimeout(timer)
    over.abort()
    sockets.close()
  }
}

/** Slow readers and writers, floods, and more of everything than anybody needs, while somebody works on. */
export async function siege ({ form, say }: ProofOptions): Promise<Proof> {
  const { ms, connections, idle, atOnce } = AMOUNTS[form]
  const figures: Proof['figures'] = []
  const broken: string[] = []
  const daemon = await Daemon.start()
  try {
    await work(daemon, AbortSignal.timeout(ms))
    const { times } = await work(daemon, AbortSignal.timeout(ms))
    const [calm, calmest] = [at(times, 0.5), at(times, 0.99)]
    figures.push(['undisturbed: ask and answer, p50; p99', `${calm.toFixed(1)} ms; ${calmest.toFixed(1)} ms (${times.length} times)`])
    for (const [name, attack] of Object.entries(ATTACKS)) {
      const count = name === 'idle connections' ? idle : /limit|floods/.test(name) ? atOnce : connections
      // Who reads nothing is of interest where there is much to read. What is asked stays in memory for a day.
      const length = name.startsWith('readers') ? 20_000 : 200
      const { times, failures, remark } = await underAttack(daemon, attack, { ms, count, length })
      const [middle, worst] = [at(times, 0.5), at(times, 0.99)]
      figures.push([`${name} (${remark}): p50; p99; of it undisturbed; memory`,
        `${middle.toFixed(1)} ms; ${worst.toFixed(1)} ms; ${(middle / calm).toFixed(1)}; ${daemon.rss} MiB`])
      say(`${name}: ${remark}`)
      for (const failure of failures) broken.push(`${name}: somebody else's call failed: ${failure}`)
      if (!(worst < SLOWEST.ms + SLOWEST.times * calmest)) broken.push(`${name}: somebody else's call took ${worst.toFixed(0)} ms`)
      if (/^0 (?:connections|times)/.test(remark)) broken.push(`${name}: nothing was really done`)
      if (!daemon.isAlive) throw new Error(`${name}: the daemon ended: ${daemon.stderr.slice(-2_000)}`)
    }
    const { tried, answered } = await smuggle(daemon)
    for (const name of answered) broken.push(`A hidden request was answered: ${name}`)
    const list = await (await fetch(`${daemon.origin}/api/tickets`)).text()
    if (list.includes('"smuggled"')) broken.push('A hidden request was done')
    figures.push(['requests that hide another; of them done', `${tried}; ${answered.length}`])
    figures.push(['memory at most', `${daemon.peak} MiB (bound ${MOST_MIB[form]})`])
    if (daemon.peak > MOST_MIB[form]) broken.push(`The daemon had ${daemon.peak} MiB resident, more than ${MOST_MIB[form]}`)
    if (/failed for a reason that nobody foresaw/.test(daemon.stderr)) broken.push(`The log says: ${daemon.stderr.slice(-2_000)}`)
  } catch (err) {
    broken.push((err as Error).stack ?? String(err))
  } finally {
    await daemon.stop()
  }
  return { figures, broken }
}
