import type { Check } from '../../../schemas/doctor'
import { type Address, readAddress } from '../clients/way'
import { ask, isAboutTls, type Reply } from './http'
import { SET_CLOCK } from './record'
import { fail, type Look, ok, warn } from './scene'

/** Beyond this a person on the page and an agent would disagree about what has expired, in milliseconds. */
const SKEW_MS = 30_000
const FOREIGN = 'https://elsewhere.invalid'

interface View extends Address {
  timeoutMs: number
  token: string | undefined
  get (path: string, more?: { headers?: Record<string, string>, until?: 'first' }): Promise<Reply>
  /** Calls the MCP endpoint. */
  call (headers: Record<string, string>): Promise<Reply>
  bearer: Record<string, string>
}

/** A Ready Room as its clients and its page see it, through whatever stands before it. */
export const lookFromOutside: Look = async scene => {
  if (scene.url === undefined) return []
  const address = readAddress(scene.url)
  const { token } = scene.config
  const bearer: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const view: View = {
    ...address,
    timeoutMs: scene.httpMs,
    token,
    bearer,
    get: (path, more = {}) => ask(address.base + path, { ...more, headers: { ...bearer, ...more.headers }, timeoutMs: scene.httpMs }),
    call: headers => ask(address.url, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
      headers: { accept: 'application/json, text/event-stream', ...headers },
      timeoutMs: scene.httpMs
    })
  }
  const reach = await lookAtReach(view)
  if (reach.status === 'fail') return [reach]
  const looks = [['url-page', lookAtPage], ['url-token', lookAtToken], ['url-events', lookAtEvents], ['url-origin', lookAtOrigin], ['url-host', lookAtHost]] as const
  const checks: Check[] = [reach]
  for (const [id, look] of looks) {
    try {
      checks.push(...await look(view))
    } catch (err) {
      checks.push(fail(id, `${address.base}: ${(err as Error).message}.`, 'Look at the log of the proxy before it'))
    }
  }
  const sent = scene.now()
  const { headers: { date } } = await view.get('healthz')
  return [...checks, ...lookAtClock(date, sent, scene)]
}

async function lookAtReach ({ base, origin, get, plain, loopback }: View): Promise<Check> {
  let reply
  try {
    reply = await get('healthz')
  } catch (err) {
    return fail('url-reach', `${base}: ${(err as Error).message}.`, isAboutTls(err)
      ? 'Give the proxy a certificate that clients accept, with its whole chain; NODE_EXTRA_CA_CERTS=FILE names an authority of your own'
      : loopback ? 'readyroom serve' : 'Start Ready Room and the proxy before it, or correct the address')
  }
  const { status, headers } = reply
  if (status === 421) return fail('url-reach', `Ready Room does not know ${origin} as its own, and refuses whoever asks for it by that name.`, `READYROOM_ALLOWED_ORIGINS=${origin}`)
  if (headers['x-readyroom'] === undefined || status !== 200) {
    return fail('url-reach', `${base}healthz answers ${status}${headers['x-readyroom'] === undefined ? ', and not as a Ready Room does' : ''}.`,
      status >= 300 && status < 404 ? 'A login of the proxy keeps agents out too: let it pass what comes with the token' : 'Correct the path: a proxy must take its prefix away before it passes a call on')
  }
  if (plain && !loopback) return warn('url-reach', `${base} is not encrypted: whoever is on the way reads the token and the tickets.`, 'Put it behind https')
  return ok('url-reach', `${base}, Ready Room ${String(headers['x-readyroom']).split(';')[0]}`)
}

async function lookAtPage ({ base, get }: View): Promise<Check[]> {
  const { status, headers } = await get('')
  const id = 'url-page'
  if (status !== 200 || !String(headers['content-type']).startsWith('text/html')) return [fail(id, `The page at ${base} answers ${status}.`, 'Let the proxy pass on everything below its prefix')]
  if (headers['content-security-policy'] === undefined) return [fail(id, `The page at ${base} comes without its Content-Security-Policy, which keeps text of agents from running.`, 'Let the proxy leave the headers alone')]
  if (new URL(base).pathname !== '/') {
    const bare = await ask(base.slice(0, -1), { timeoutMs: 5_000 })
    const leads = bare.status >= 300 && bare.status < 400 && new URL(bare.headers.location ?? '', base).href === base
    if (bare.status !== 200 && !leads) return [warn(id, `${base.slice(0, -1)}, without the slash, answers ${bare.status}.`, `Let the proxy send it on to ${base}`)]
  }
  return [ok(id, base)]
}

async function lookAtToken ({ base, token, loopback, bearer, timeoutMs }: View): Promise<Check[]> {
  const id = 'url-token'
  const bare = await ask(`${base}api/tickets`, { timeoutMs })
  if (bare.status === 200) {
    if (loopback) return [ok(id, 'none is needed on this machine')]
    return [fail(id, `Whoever reaches ${base} can answer tickets: it asks for no token.`, 'Start it with READYROOM_TOKEN set to the output of: openssl rand -base64 32')]
  }
  if (token === undefined) return [warn(id, `${base} asks for a token (${bare.status}), and there is none here: what it guards cannot be looked at.`, 'Set READYROOM_TOKEN here, and look again')]
  const { status } = await ask(`${base}api/tickets`, { headers: bearer, timeoutMs })
  if (status === 200) return [ok(id, 'the one set here is taken, and nothing is answered without')]
  return [fail(id, status === 401 ? `${base} does not take the token that is set here.` : `${base}api/tickets answers ${status} to the token that is set here.`,
    status === 401 ? 'Set READYROOM_TOKEN to the same here and there' : 'Let the proxy pass the Authorization header on as it is')]
}

async function lookAtEvents ({ get, token, loopback }: View): Promise<Check[]> {
  const id = 'url-events'
  let reply
  try {
    reply = await get('api/events', { until: 'first', headers: { accept: 'text/event-stream', 'accept-encoding': 'gzip' } })
  } catch (err) {
    return [fail(id, `News does not reach the page: ${(err as Error).message}. A proxy holds it back.`, 'Turn its buffering off, in nginx: proxy_buffering off;')]
  }
  const { status, headers } = reply
  if (status === 501) return [ok(id, 'a Worker, where the page asks every few seconds')]
  if (status === 401 && token === undefined && !loopback) return []
  if (status !== 200) return [fail(id, `api/events answers ${status}.`, status === 401 ? 'Set READYROOM_TOKEN to the same here and there' : 'Let the proxy pass on everything below its prefix')]
  if (headers['content-encoding'] !== undefined) return [warn(id, `Events come compressed (${headers['content-encoding']}), which holds them back.`, 'Turn compression off for text/event-stream')]
  return [ok(id, 'the first byte comes at once')]
}

async function lookAtOrigin ({ call, origin, bearer, token, loopback }: View): Promise<Check[]> {
  const id = 'url-origin'
  const foreign = await call({ origin: FOREIGN, ...bearer })
  if (foreign.status !== 403) return [fail(id, `A call with a foreign Origin is answered ${foreign.status} instead of 403.`, 'Let the proxy pass the Origin header on as it is')]
  const own = await call({ origin, ...bearer })
  if (own.status === 403) return [fail(id, `Ready Room does not know ${origin} as its own, so that clients and the page are refused.`, `READYROOM_ALLOWED_ORIGINS=${origin}`)]
  if (own.status === 401 && token === undefined && !loopback) return [ok(id, 'a foreign one is refused')]
  if (own.status !== 200) return [fail(id, `A call to the MCP endpoint answers ${own.status}.`, own.status === 401 ? 'Set READYROOM_TOKEN to the same here and there' : 'Let the proxy pass a POST to /mcp on as it is')]
  return [ok(id, 'a foreign one is refused, the own one is not')]
}

async function lookAtHost ({ base, loopback, timeoutMs, bearer }: View): Promise<Check[]> {
  // A name that is not its own leads a proxy to another site. Without one, it is what keeps a page of a rebound name out.
  if (!loopback) return []
  const id = 'url-host'
  const [named, open] = await Promise.all([
    ask(`${base}api/tickets`, { headers: { host: 'elsewhere.invalid', ...bearer }, timeoutMs }),
    ask(`${base}api/tickets`, { timeoutMs })
  ])
  if (open.status !== 200) return []
  return [named.status === 200
    ? fail(id, 'A call by a foreign name is answered: a page in your browser could get through.', 'Let the proxy pass the Host header on as it is, or set READYROOM_TOKEN')
    : ok(id, 'a foreign name is refused')]
}

function lookAtClock (date: string | undefined, sent: number, { now, place: { platform } }: Parameters<Look>[0]): Check[] {
  const theirs = Date.parse(date ?? '')
  if (Number.isNaN(theirs)) return []
  // Somewhere between the two it was said, rounded down to a second.
  const skew = theirs > now() ? theirs - now() : theirs + 1_000 < sent ? theirs + 1_000 - sent : 0
  if (Math.abs(skew) <= SKEW_MS) return [ok('url-clock', 'its clock agrees with the one here')]
  return [warn('url-clock', `Its clock is ${Math.round(Math.abs(skew) / 1000).toLocaleString('en')} s ${skew > 0 ? 'ahead of' : 'behind'} the one here.`, SET_CLOCK[platform] ?? SET_CLOCK.other)]
}
