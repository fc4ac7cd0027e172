import { isIP } from 'node:net'
import { isAbsolute, join, resolve } from 'node:path'
import { checkStream } from '../lifecycle'
import { isLoopbackName } from '../origin'
import { SWITCH, words } from '../settings'
import { parse } from '../validate'
import { StreamSchema } from '../../schemas/ticket'

// The settings that Node alone has; see lib/settings for how a reader speaks.

export function readStream (text: string): string {
  return checkStream(parse(StreamSchema, text.trim(), 'stream'))
}

export function readBind (text: string): string {
  const allowed = 'it must be an address such as 127.0.0.1 or ::1, a host name of this machine, or 0.0.0.0 or :: for all of its addresses'
  const bind = text.trim().replace(/^\[(.*)\]$/, '$1')
  if (isIP(bind) !== 0) return bind
  if (bind === '*') throw new Error('write 0.0.0.0 or :: for all addresses of this machine')
  if (/:\d+$/.test(bind)) throw new Error('the port goes into READYROOM_PORT; ' + allowed)
  if (!/^[\p{L}\p{N}_](?:[\p{L}\p{N}_.-]*[\p{L}\p{N}_.])?$/u.test(bind) || bind.length > 253) throw new Error(allowed)
  let hostname: string
  try {
    hostname = new URL(`http://${bind}`).hostname
  } catch {
    throw new Error(allowed)
  }
  // What is judged must be what is listened on: an odd spelling of an address becomes the plain one, and a name that can
  // only mean this machine (RFC 6761, 6.3) is not left to whatever resolver there is.
  if (isIP(hostname) !== 0) return hostname
  return isLoopbackName(hostname) ? '127.0.0.1' : hostname
}

export function readPort (text: string): number {
  const port = /^\d{1,5}$/.test(text.trim()) ? Number(text) : NaN
  if (port >= 3000 && port <= 3899) {
    throw new Error('3000 to 3899 are left to the worktree helper that allocates them; use another port, such as 8971')
  }
  if (port === 0) throw new Error('every client has to find the same port, so it cannot be left to chance; use one from 1 to 65535, such as 8971')
  if (!(port <= 65_535)) throw new Error('it must be a whole number from 1 to 65535, and not from 3000 to 3899')
  return port
}

export function readStateDir (text: string, { cwd, home }: { cwd: string, home: () => string }): string {
  if (text.includes('\0')) throw new Error('a path holds no NUL character')
  // The configuration of an MCP client passes through no shell, and a folder called ~ is never what was meant.
  const tilde = /^~(?:[/\\]|$)/.exec(text)
  if (tilde !== null) return join(home(), text.slice(tilde[0].length))
  return isAbsolute(text) ? resolve(text) : resolve(cwd, text)
}

const PROXY_WORDS = ['loopback', 'linklocal', 'uniquelocal']

export function readTools (text: string): 'decisions' | 'room' | 'all' {
  const set = text.trim().toLowerCase()
  if (set !== 'decisions' && set !== 'room' && set !== 'all') throw new Error('it must be decisions, room, or all')
  return set
}

export function readTrustProxy (text: string): boolean | string {
  const value = text.trim().toLowerCase()
  const on = SWITCH.get(value)
  if (on !== undefined) return on
  const proxies = words(value, /,/)
  const wrong = proxies.find(proxy => !PROXY_WORDS.includes(proxy) && !isRange(proxy))
  if (wrong !== undefined || proxies.length === 0) {
    throw new Error('it must be off, on, or the addresses of the proxies with commas between them, each an address, a range such as 10.0.0.0/8, ' +
      `or one of ${PROXY_WORDS.join(', ')}`)
  }
  return proxies.join(',')
}

function isRange (text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}
