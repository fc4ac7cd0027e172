import { isIP } from 'node:net'
import { isAbsolute, join, resolve } from 'node:path'
import { checkStream } from '../lifecycle'
import { isLoopbackName, type OriginPolicy } from '../origin'
import { StreamSchema } from '../../schemas/ticket'
import { parse } from '../validate'

// One reader a setting: the value, or an error whose message says what is wrong with the text and what is allowed. Whoever
// calls names the setting and shows the text before it.

export function readStream (text: string): string {
  return checkStream(parse(StreamSchema, text.trim(), 'stream'))
}

/** Never says a thing about the token but what kind of fault it has. */
export function readToken (text: string): string {
  if (text.trim() === '') throw new Error('is blank: set it to a secret of at least 24 characters, or leave it out altogether')
  // It travels in an Authorization header as one word (RFC 6750, 2.1).
  if (!/^[\x21-\x7e]+$/.test(text)) {
    throw new Error('holds a character that cannot stand in the header it travels in, such as a space, a line break or a letter outside ASCII: ' +
      'use letters, digits and the marks of ASCII only')
  }
  if (text.length > 1_024) throw new Error('is longer than 1,024 characters, more than every proxy passes on in a header: use a shorter one')
  return text
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

/** Comma-separated. A slash at the end is forgiven; whatever an Origin header never has is not. */
export function readOrigins (text: string): string[] {
  return words(text, /,/).map(word => {
    const url = /^https?:\/\/[^/\\?#@\s]+\/?$/i.test(word) && !word.includes('*') ? parsed(word) : undefined
    if (url === undefined) {
      throw new Error(`${JSON.stringify(word)} is no origin; each must be a scheme, a host and, where it is not the scheme's own, a port, ` +
        'such as https://desk.example or http://127.0.0.1:9000, with commas between them and no path, wildcard or user')
    }
    return url.origin
  }).filter(isFirst)
}

export function readPolicy (text: string): OriginPolicy {
  const policy = text.trim()
  if (policy !== 'strict' && policy !== 'spec') {
    throw new Error('it must be strict, which refuses a call to /mcp without an Origin header, or spec, which admits it')
  }
  return policy
}

const PROXY_WORDS = ['loopback', 'linklocal', 'uniquelocal']

export function readTrustProxy (text: string): boolean | string {
  const value = text.trim().toLowerCase()
  if (['off', 'false', 'no', '0'].includes(value)) return false
  if (['on', 'true', 'yes', '1'].includes(value)) return true
  const proxies = words(value, /,/)
  const wrong = proxies.find(proxy => !PROXY_WORDS.includes(proxy) && !isRange(proxy))
  if (wrong !== undefined || proxies.length === 0) {
    throw new Error('it must be off, on, or the addresses of the proxies with commas between them, each an address, a range such as 10.0.0.0/8, ' +
      `or one of ${PROXY_WORDS.join(', ')}`)
  }
  return proxies.join(',')
}

/** Who may frame the page: sources of the policy's own grammar (CSP 3, 2.3.1), but none that would admit every site. */
export function readSources (text: string): string[] {
  return words(text, /[\s,]+/).map(word => {
    const web = /^(https?:\/\/)(\*\.)?([^/\\?#@*;]+)\/?$/i.exec(word)
    if (web !== null) {
      const url = parsed(web[1]! + web[3]!)
      if (url !== undefined) return `${url.protocol}//${web[2] ?? ''}${url.host}`
    } else if (/^(?!https?:)[a-z][a-z0-9+.-]*:\/\/(\*|[a-z0-9.-]+)$/i.test(word)) {
      return word
    }
    throw new Error(`${JSON.stringify(word)} names no site; each must be an origin such as https://desk.example or https://*.desk.example, ` +
      'or an application such as vscode-webview://*, with spaces or commas between them')
  }).filter(isFirst)
}

const words = (text: string, between: RegExp): string[] => text.split(between).map(word => word.trim()).filter(word => word !== '')
const isFirst = <T>(value: T, at: number, all: T[]): boolean => all.indexOf(value) === at

function parsed (text: string): URL | undefined {
  try { return new URL(text) } catch { return undefined }
}

function isRange (text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}
