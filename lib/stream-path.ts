import { StreamSchema } from '../schemas/ticket'
import { ReadyroomError } from './errors'
import { HTTP_REFUSALS, httpRefusal } from './http-refusals'
import { checkStream } from './lifecycle'
import { parse } from './validate'

/**
 * The stream that an address names: `tail` is what stands behind `/mcp/`, percent-encoded as it came. It is one segment:
 * a slash in a stream is written as %2F. Undefined where there is none.
 * @throws BAD_REQUEST when it is no stream. @throws NOT_FOUND when there is more than one segment.
 */
export function streamOf (tail: string | undefined): string | undefined {
  if (tail === undefined || tail === '') return undefined
  if (tail.includes('/')) {
    throw new ReadyroomError('NOT_FOUND', `${HTTP_REFUSALS.notFound[1]} A slash in the name of a stream is written as %2F: /mcp/name%2Fpart.`)
  }
  let stream: string
  try {
    stream = decodeURIComponent(tail)
  } catch (err) {
    throw httpRefusal('unreadableAddress', err)
  }
  return checkStream(parse(StreamSchema, stream, 'The stream in the address'))
}
