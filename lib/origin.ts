import { ReadyroomError } from './errors'

/** `strict`: a missing Origin on `/mcp` is refused. `spec`: it is admitted, as the MCP specification allows. */
export type OriginPolicy = 'strict' | 'spec'

/**
 * The host of a URL in its canonical spelling, or undefined where it is none: `0x7f.1` becomes `127.0.0.1`, `LocalHost.`
 * becomes `localhost.`. The URL parser knows every spelling that a browser accepts; a list of ours would not.
 */
const parseHost = (host: string): URL | undefined => {
  // A Host header is a host and a port (RFC 9110, 7.2); what the URL parser would read as more than that is none.
  if (/[/?#@\\\s\p{Cc}]/u.test(host)) return undefined
  try { return new URL(`http://${host}`) } catch { return undefined }
}

/** Whether a host name, as `URL.hostname` spells it, can only mean this machine. */
export function isLoopbackName (hostname: string): boolean {
  const name = hostname.replace(/\.$/, '')
  return name === 'localhost' || name.endsWith('.localhost') || name === '[::1]' ||
    /^127\.\d+\.\d+\.\d+$/.test(name) || /^\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\]$/.test(name)
}

/** Whether a bind address is reachable from this machine only. */
export function isLoopbackAddress (address: string): boolean {
  const host = parseHost(address.includes(':') && !address.startsWith('[') ? `[${address}]` : address)
  return host !== undefined && isLoopbackName(host.hostname)
}

export interface OwnHosts {
  /** The port that we listen on: our loopback names count only with it. Unset where a loopback name is not ours. */
  port?: number | undefined
  /** Origins beyond our own, each `scheme://host[:port]`. */
  allowedOrigins: readonly string[]
  /** Host names beyond our own, `name` (the scheme's own port), `name:port` or `name:*` (any port, and none). */
  allowedHosts?: readonly string[]
}

/** Whether a Host header names us: a loopback name with our port, the host of an allowed origin, or an allowed host. */
export function isHostAllowed (host: string | undefined, { port, allowedOrigins, allowedHosts = [] }: OwnHosts): boolean {
  if (host === undefined) return false
  const url = parseHost(host)
  if (url === undefined) return false
  if (isLoopbackName(url.hostname) && Number(url.port || 80) === port) return true
  if (allowedHosts.includes(`${url.hostname}:*`) || allowedHosts.includes(url.host)) return true
  return allowedOrigins.some(origin => {
    const allowed = new URL(origin)
    const defaultPort = allowed.protocol === 'https:' ? '443' : '80'
    return allowed.hostname === url.hostname && (allowed.port || defaultPort) === (url.port || defaultPort)
  })
}

/**
 * Whether an Origin header is one of ours. Compared exactly: scheme, host and port. `null`, a doubled header (Node joins
 * it with a comma) and anything with a path are none. A missing one is the caller's to judge.
 */
export function isOriginAllowed (origin: string, { port, allowedOrigins }: OwnHosts): boolean {
  let url: URL
  try { url = new URL(origin) } catch { return false }
  if (url.origin === 'null' || url.origin !== origin) return false
  if (url.protocol === 'http:' && isLoopbackName(url.hostname) && Number(url.port || 80) === port) return true
  return allowedOrigins.includes(url.origin)
}

export interface OriginRules {
  /** `page`: what the heads-up page sends, and programs. The others are for MCP. */
  policy: 'page' | OriginPolicy
  own: OwnHosts
  /** The origin that a client without one is told to send. */
  example: string
}

/** Fetch Metadata: a browser's own word on where a request comes from. A program sends none. */
const SAME_SITE = new Set([undefined, 'same-origin', 'none'])

/**
 * Keeps pages of other origins away. `origin` and `site` are the headers Origin and Sec-Fetch-Site, undefined where
 * there is none; a doubled one, joined with a comma, is no origin.
 * @throws FORBIDDEN_ORIGIN saying what to do about it, for the one who reads that is setting up a client.
 */
export function checkOrigin (origin: string | undefined, site: string | undefined, { policy, own, example }: OriginRules): void {
  if (policy === 'page' && !SAME_SITE.has(site)) {
    throw new ReadyroomError('FORBIDDEN_ORIGIN', 'A browser may ask this only from the heads-up page itself.')
  }
  if (origin === undefined ? policy !== 'strict' : isOriginAllowed(origin, own)) return
  const got = origin === undefined ? 'The Origin header is missing.' : `The Origin ${JSON.stringify(origin.slice(0, 200))} is not one of this Ready Room's.`
  throw new ReadyroomError('FORBIDDEN_ORIGIN', policy === 'page'
    ? `${got} Another origin must be listed in READYROOM_ALLOWED_ORIGINS.`
    : `${got} Add this header to the client's settings: \`Origin: ${example}\`. ` +
      'An origin of its own must be listed in READYROOM_ALLOWED_ORIGINS; READYROOM_ORIGIN_POLICY=spec admits a client that sends none.')
}
