/** What a tool answered, from either form that a reply over HTTP comes in. */
export function structured<T> (body: string): T {
  const json = body.includes('data: ') ? body.slice(body.indexOf('data: {') + 6).split('\n')[0]! : body
  return (JSON.parse(json) as { result: { structuredContent: T } }).result.structuredContent
}
