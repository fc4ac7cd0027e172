import { isLoopbackAddress, isLoopbackName } from './origin'

export interface ConsoleCaller {
  /** Whose connection it is, and whom trusted proxies forward for: every address on the way. Empty where nobody knows. */
  addresses: readonly string[]
  /** Every name that it asked for: the Host header, and what a trusted proxy says of the one before it. */
  hosts: ReadonlyArray<string | undefined>
  /** Names of its headers, in lower case. */
  headers: Iterable<string>
  /** Whether a proxy that is trusted has spoken for it. */
  forwarded: boolean
}

export interface ConsolePlace {
  /** Names under which the world comes here, `name`, `name:port` or `name:*`. */
  publicHosts: readonly string[]
  /** Empty where there is none. */
  publicUrl: string
  lanUrl: string
}

/** What says that somebody stands between: RFC 7239, RFC 8586, RFC 9110 (7.6.3), and what proxies and Cloudflare put there. */
export const FORWARDING = /^(?:forwarded|via|cdn-loop|x-forwarded-.*|x-original-.*|x-real-ip|x-client-ip|x-cluster-client-ip|true-client-ip|cf-.*)$/
/** And of those, what a proxy on the network may send. What a CDN puts there has come from further away, whoever passes it on. */
const SPOKEN_FOR = /^(?:forwarded|via|x-forwarded-.*|x-real-ip)$/

const PRIVATE_V4 = /^(?:10\.|192\.168\.|169\.254\.|172\.(?:1[6-9]|2\d|3[01])\.)\d/
/** Unique local and link local (RFC 4193, RFC 4291). */
const PRIVATE_V6 = /^(?:f[cd][0-9a-f]{2}|fe[89ab][0-9a-f]):/i
/** Names that no public resolver knows: mDNS (RFC 6762), RFC 8375, and what ICANN has set aside or routers use. */
const LAN_NAME = /(?:^[^.]+|\.(?:local|lan|home\.arpa|internal|intranet|home))$/

/** Whether an address is of this machine or of a private network. What shared carriers use (RFC 6598) is neither. */
export function isPrivateAddress (address: string): boolean {
  const plain = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '')
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1] ?? plain
  if (mapped.includes(':')) return PRIVATE_V6.test(mapped) || isLoopbackAddress(mapped)
  return /^\d+\.\d+\.\d+\.\d+$/.test(mapped) && (PRIVATE_V4.test(mapped) || isLoopbackAddress(mapped))
}

const listed = (value: string | undefined): string[] => value === undefined ? [] : value.split(',').map(item => item.trim())

/** The values of one parameter of `Forwarded`, an address without its port (RFC 7239, 4 and 6). */
const parameter = (value: string, name: string): string[] => [...value.matchAll(new RegExp(`\\b${name}=(?:"([^"]*)"|([^;,\\s]*))`, 'gi'))].map(([, quoted, plain]) => quoted ?? plain!)

/**
 * Everybody for whom a trusted proxy speaks, and every name that was asked for on the way: all that its headers say, and
 * not the last alone, which is who else is believed. Any of them may stand between.
 */
export function spokenFor (header: (name: string) => string | undefined): { addresses: string[], hosts: string[] } {
  const forwarded = header('forwarded') ?? ''
  const addresses = parameter(forwarded, 'for').map(node => node.replace(/^(\[[^\]]*\]|[\d.]+):\d+$/, '$1'))
  return {
    addresses: [...listed(header('x-forwarded-for')), ...listed(header('x-real-ip')), ...addresses],
    hosts: [...listed(header('x-forwarded-host')), ...parameter(forwarded, 'host')]
  }
}

const parsed = (host: string): URL | undefined => {
  if (/[/?#@\\\s\p{Cc},]/u.test(host)) return undefined
  try { return new URL(`http://${host}`) } catch { return undefined }
}

function isPublic ({ hostname, port }: URL, { publicHosts, publicUrl }: ConsolePlace): boolean {
  const name = hostname.replace(/\.$/, '')
  if (publicUrl !== '' && new URL(publicUrl).hostname === name) return true
  return publicHosts.some(host => {
    const [, publicName, publicPort] = /^(.*?)(?::(\d+|\*))?$/.exec(host)!
    return publicName === name && (publicPort === undefined || publicPort === '*' || publicPort === (port || '80') || port === '')
  })
}

function isLanName ({ hostname }: URL, { lanUrl }: ConsolePlace): boolean {
  const name = hostname.replace(/\.$/, '')
  if (isLoopbackName(name) || isPrivateAddress(name)) return true
  if (lanUrl !== '' && new URL(lanUrl).hostname === name) return true
  // An address that is not private has no dot-free form here: the URL parser has written it out.
  return !name.startsWith('[') && !/^\d+\.\d+\.\d+\.\d+$/.test(name) && LAN_NAME.test(name)
}

/**
 * Whether whoever asks for a console is at this machine or on the network around it. In doubt it is not: the answer is
 * then the one of a place that does not exist.
 */
export function isAtHome ({ addresses, hosts, headers, forwarded }: ConsoleCaller, place: ConsolePlace): boolean {
  if (addresses.length === 0 || !addresses.every(isPrivateAddress)) return false
  for (const name of headers) if (FORWARDING.test(name) && !(forwarded && SPOKEN_FOR.test(name))) return false
  return hosts.every(host => {
    const url = host === undefined ? undefined : parsed(host)
    return url !== undefined && !isPublic(url, place) && isLanName(url, place)
  })
}
