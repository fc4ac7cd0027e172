import type { Daemon } from './daemon'
import { raw } from './wire'

// Requests that two readers could take for different ones (RFC 9112, 6.1 and 11.2): what is hidden in them must never be
// done. Each hides a ticket, and the log tells.

const CRLF = '\r\n'

export function hidden (port: number, origin: string): string {
  const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask_human","arguments":{"question":"smuggled"}}}'
  return ['POST /mcp/smuggled HTTP/1.1', `host: 127.0.0.1:${port}`, `origin: ${origin}`, 'content-type: application/json', `content-length: ${body.length}`, '', body].join(CRLF)
}

const SHAPES: Record<string, (inner: string) => [fields: string[], body: string]> = {
  'length and chunks': inner => [['content-length: 4', 'transfer-encoding: chunked'], `0${CRLF}${CRLF}${inner}`],
  'chunks and length': inner => [['transfer-encoding: chunked', 'content-length: 5'], `0${CRLF}${CRLF}${inner}`],
  'two lengths': inner => [['content-length: 2', `content-length: ${inner.length + 2}`], `{}${inner}`],
  'a list of lengths': inner => [[`content-length: 2, ${inner.length + 2}`], `{}${inner}`],
  'a length with a sign': inner => [['content-length: +2'], `{}${inner}`],
  'a length in hex': inner => [['content-length: 0x2'], `{}${inner}`],
  'a space before the colon': inner => [['content-length : 2'], `{}${inner}`],
  'a folded coding': inner => [['transfer-encoding:', ' chunked', 'content-length: 2'], `{}${inner}`],
  'a coding that is nearly chunked': inner => [['transfer-encoding: xchunked'], inner],
  'chunked, and not last': inner => [['transfer-encoding: chunked, identity'], `0${CRLF}${CRLF}${inner}`],
  'two codings': inner => [['transfer-encoding: chunked', 'transfer-encoding: identity', 'content-length: 2'], `0${CRLF}${CRLF}${inner}`],
  'a control before chunked': inner => [['transfer-encoding: \x0bchunked'], `0${CRLF}${CRLF}${inner}`],
  'a chunk of no number': inner => [['transfer-encoding: chunked'], `zz${CRLF}${inner}`],
  'a chunk of a negative size': inner => [['transfer-encoding: chunked'], `-1${CRLF}${inner}`],
  'a chunk past any size': inner => [['transfer-encoding: chunked'], `fffffffffffffffff${CRLF}${inner}`],
  'a chunk longer than it says': inner => [['transfer-encoding: chunked'], `1${CRLF}{}${CRLF}0${CRLF}${CRLF}${inner}`],
  'a chunk that ends in a bare line feed': inner => [['transfer-encoding: chunked'], `2\n{}\n0\n\n${inner}`],
  'a bare line feed between fields': inner => [['x: y\ncontent-length: 2'], `{}${inner}`],
  'a carriage return within a field': inner => [['x: y\rcontent-length: 2', 'transfer-encoding: chunked'], `0${CRLF}${CRLF}${inner}`]
}

/** Sends each shape; resolves with how many there were, and whose hidden request was answered. */
export async function smuggle ({ port, origin }: Daemon): Promise<{ tried: number, answered: string[] }> {
  const inner = hidden(port, origin)
  const answered: string[] = []
  for (const [name, shape] of Object.entries(SHAPES)) {
    const [fields, body] = shape(inner)
    const bytes = Buffer.from(['POST /api/undo HTTP/1.1', `host: 127.0.0.1:${port}`, 'content-type: application/json', ...fields, '', body].join(CRLF), 'latin1')
    const { replies } = await raw(port, bytes)
    if (replies.some(({ body }) => body.includes('structuredContent'))) answered.push(name)
  }
  return { tried: Object.keys(SHAPES).length, answered }
}
