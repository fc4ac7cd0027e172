import { ReadyroomError, type ErrorCode } from './errors'
import { NESTING_LIMIT } from './nesting'

/** What every target says in the same words about what came over HTTP. */
export const HTTP_REFUSALS = {
  tooLarge: ['TOO_LARGE', 'The body may have at most 1 MiB (1,048,576 bytes).'],
  notJson: ['UNSUPPORTED_MEDIA_TYPE', 'The body must be JSON: send content-type: application/json.'],
  encoded: ['UNSUPPORTED_MEDIA_TYPE', 'The body must not be compressed: send it without content-encoding.'],
  cutShort: ['BAD_REQUEST', 'The body is not as long as its content-length says.'],
  emptyBody: ['BAD_REQUEST', 'The body is empty; it must be JSON.'],
  notUtf8: ['BAD_REQUEST', 'The body is not UTF-8: send JSON in UTF-8 (RFC 8259, 8.1).'],
  tooDeep: ['BAD_REQUEST', `The body may have at most ${NESTING_LIMIT} lists and objects within each other.`],
  unreadableBody: ['BAD_REQUEST', 'The body is not JSON that can be read: it is cut short, malformed, or has a field named __proto__ or constructor.'],
  unreadableAddress: ['BAD_REQUEST', 'The address cannot be read: its percent-encoding is not that of UTF-8 text.'],
  notFound: ['NOT_FOUND', 'There is nothing at this address.']
} as const satisfies Record<string, readonly [ErrorCode, string]>

export function httpRefusal (what: keyof typeof HTTP_REFUSALS, cause?: unknown): ReadyroomError {
  const [code, message] = HTTP_REFUSALS[what]
  return new ReadyroomError(code, message, { cause })
}

/** `allow` names the methods that the address has, with commas between them (RFC 9110, 15.5.6). */
export function methodRefusal (allow: string): ReadyroomError {
  return new ReadyroomError('METHOD_NOT_ALLOWED', `This address answers ${allow} only.`, { headers: { allow } })
}
