import type { OriginPolicy } from './origin'

// The settings that every target has. One reader a setting: the value, or an error whose message says what is wrong with
// the text and what is allowed. Whoever calls names the setting and shows the text before it.

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

/** Comma-separated. A slash at the end is forgiven; whatever an Origin header never has is not. */
export function readOrigins (text: string): string[] {
  return words(text, /,/).map(word => {
    const url = /^https?:\/\/[^/\\?#@\s]+\/?$/i.test(word) && !word.includes('*') ? parsed(word) : undefined
    if (url === undefined) {
      throw new Error(`${shown(word)} is no origin; each must be a scheme, a host and, where it is not the scheme's own, a port, ` +
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

/** Each a host name or an address, and where it is not the scheme's own a port; `*` in its place means any. */
export function readHosts (names: readonly string[]): string[] {
  return names.map(word => {
    const [, name = '', port = ''] = /^(\[[^\]]*\]|[^:]*)(:\d{1,5}|:\*)?$/.exec(word) ?? []
    const url = name === '' || /[/\\?#@*\s]/.test(name) ? undefined : parsed(`http://${name}`)
    if (url === undefined || Number(port.slice(1) === '*' ? 1 : port.slice(1) || 1) > 65_535) {
      throw new Error(`${shown(word)} is no host; each must be a name or an address, alone, with a port, or with :* for any port, ` +
        'such as desk.example or 192.168.1.5:*, with commas between them and without a scheme or a path')
    }
    return url.hostname + port
  }).filter(isFirst)
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
    throw new Error(`${shown(word)} names no site; each must be an origin such as https://desk.example or https://*.desk.example, ` +
      'or an application such as vscode-webview://*, with spaces or commas between them')
  }).filter(isFirst)
}

/** An address of ours, without a slash at the end. @throws Error saying what is allowed */
export function readAddress (text: string): string {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username + url.password + url.search + url.hash !== '') {
    throw new Error('it must be an address such as https://desk.example, with http or https and without a user, a query or a fragment')
  }
  return url.href.replace(/\/+$/, '')
}

/** What the person should know of a token that is taken all the same. */
export function tokenWarning (token: string): string | undefined {
  const length = [...token].length
  return length >= 24
    ? undefined
    : `The token has ${length} ${length === 1 ? 'character' : 'characters'}, which can be guessed; use at least 24 random ones, such as from: openssl rand -base64 32`
}

/** The whole sentence about a setting that cannot be used. `text` is left out where it is a secret. */
export function badSetting (name: string, text: string | undefined, err: unknown): string {
  const value = text === undefined ? '' : ` is ${shown(text)}:`
  return `${name}${value} ${(err as Error).message.replace(/\.?$/, '.')}`
}

/** A value in a message: whole where it is short, for a long one tells nobody more, and without the password that an address may hold. */
export function shown (text: string): string {
  // Up to the last @: what makes an address unreadable may be the password itself.
  const open = text.replace(/:\/\/.*@/s, '://***@').replace(/^[^/\s@]+:[^/\s]*@/, '***@')
  return JSON.stringify(open.length > 200 ? `${open.slice(0, 200)}...` : open)
}

export const words = (text: string, between: RegExp): string[] => text.split(between).map(word => word.trim()).filter(word => word !== '')
const isFirst = <T>(value: T, at: number, all: T[]): boolean => all.indexOf(value) === at

function parsed (text: string): URL | undefined {
  try { return new URL(text) } catch { return undefined }
}

/** The words for on and off. */
export const SWITCH = new Map([...['off', 'false', 'no', '0'].map(word => [word, false] as const), ...['on', 'true', 'yes', '1'].map(word => [word, true] as const)])

/** A whole number, both ends included. */
export const readWhole = (min: number, max: number) => (text: string): number => {
  const value = /^\d{1,12}$/.test(text.trim()) ? Number(text) : NaN
  if (!(value >= min && value <= max)) throw new Error(`it must be a whole number from ${min.toLocaleString('en-US')} to ${max.toLocaleString('en-US')}`)
  return value
}

export function readSwitch (text: string): boolean {
  const on = SWITCH.get(text.trim().toLowerCase())
  if (on === undefined) throw new Error('it must be on or off')
  return on
}
