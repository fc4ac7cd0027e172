import { BODY_LIMIT, bodyText, judge, requireJson } from '../lib/bodies'
import { ReadyroomError } from '../lib/errors'
import { httpRefusal } from '../lib/http-refusals'
import type { Static, TSchema } from 'typebox'

/** What arrives of a body. One whose sender goes away in the middle of it is no failure of ours. @throws BAD_REQUEST */
async function * arriving (body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield * body
  } catch (err) {
    throw httpRefusal('cutShort', err)
  }
}

const tooLarge = (limit: number): ReadyroomError => limit === BODY_LIMIT
  ? httpRefusal('tooLarge')
  : new ReadyroomError('TOO_LARGE', `The body may have at most ${limit.toLocaleString('en-US')} bytes.`)

/**
 * The bytes of a body that says it is JSON.
 * @throws UNSUPPORTED_MEDIA_TYPE, BAD_REQUEST. @throws TOO_LARGE, before it is read where it says how long it is, and never later than at the limit.
 */
export async function readBytes ({ headers, body }: Request, limit = BODY_LIMIT): Promise<Uint8Array> {
  requireJson(headers.get('content-type'), headers.get('content-encoding'))
  if (Number(headers.get('content-length')) > limit) throw tooLarge(limit)
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body === null ? [] : arriving(body)) {
    length += chunk.byteLength
    if (length > limit) throw tooLarge(limit)
    chunks.push(chunk)
  }
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.byteLength
  }
  return bytes
}

/** A body, judged. @throws BAD_REQUEST, and what `readBytes` throws. */
export async function readBody<const S extends TSchema> (request: Request, schema: S, limit = BODY_LIMIT): Promise<Static<S>> {
  const bytes = await readBytes(request, limit)
  if (bytes.byteLength === 0) throw httpRefusal('emptyBody')
  const text = bodyText(bytes)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (err) {
    throw httpRefusal('unreadableBody', err)
  }
  return judge(schema, value)
}

/** The query of an address, judged: a name that comes twice is a list, which no schema of ours wants. @throws BAD_REQUEST */
export function readQuery<const S extends TSchema> ({ url }: Request, schema: S): Static<S> {
  const { searchParams } = new URL(url)
  const names = [...new Set(searchParams.keys())]
  return judge(schema, Object.fromEntries(names.map(name => {
    const values = searchParams.getAll(name)
    return [name, values.length === 1 ? values[0] : values]
  })), 'querystring')
}
