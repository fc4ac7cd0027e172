import t from 'tap'
import { oddRequests, tellOf, type Odd } from '../contract/http-odd'
import { listen } from '../helpers/build'
import { startWorker, TOKEN } from '../helpers/worker'

/** Where a runtime answers before, or instead of, anything of ours: each with what it does. */
const NOT_OURS: Array<[what: string, is: (odd: Odd) => boolean]> = [
  ['dot segments, backslashes and fragments are resolved as in any URL', ({ path }) => /\/\.|\/%2e|\\|#/.test(path)],
  ['an address with characters that belong in none is refused', ({ path }) => /[^\x20-\x7e]|[<`]/.test(path)],
  ['a method that is not known is 501', ({ method }) => method === 'M-SEARCH' || method === 'LINK'],
  ['answers are compressed on the way, or not sent at all', ({ headers }) => 'accept-encoding' in headers],
  ['a forwarded scheme is believed in local development', ({ headers }) => 'x-forwarded-proto' in headers],
  ['a page out of memory has no date, and nothing to compare it with', ({ path, headers }) => path === '/' && Object.keys(headers).some(name => /^if-(?:un)?mod|^if-match/.test(name))]
]

t.test('the Worker answers whatever it is asked as Node does: status, code and headers', async t => {
  const [node, worker] = [await listen(t, { token: TOKEN }), await startWorker(t)]
  const [toNode, toWorker] = [node, worker].map(({ origin }) => oddRequests(origin, TOKEN)) as [Odd[], Odd[]]
  t.ok(toNode.length > 1_500, `${toNode.length} requests`)
  const differed = new Set<string>()
  const differences: string[] = []
  for (const [index, odd] of toNode.entries()) {
    const [one, other] = await Promise.all([tellOf(node.origin, odd), tellOf(worker.origin, toWorker[index]!)])
    if (JSON.stringify(one) === JSON.stringify(other)) continue
    const known = NOT_OURS.find(([, is]) => is(odd))
    if (known !== undefined) differed.add(known[0])
    else differences.push(JSON.stringify([odd.method, odd.path.slice(0, 100), { ...odd.headers, authorization: '' }, String(odd.body ?? '').slice(0, 100), one, other]))
  }
  t.strictSame(differences, [])
  t.strictSame([...differed].sort(), NOT_OURS.map(([what]) => what).sort(), 'and each exception is still one')
})
