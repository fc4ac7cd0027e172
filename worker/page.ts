import { pageHeaders } from '../lib/page-policy'
import type { Handler } from './routes'

/** The heads-up page, from memory, under its own policy. */
export async function createPage (html: string, frameAncestors: string[]): Promise<Handler> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(html))
  const tag = btoa(String.fromCharCode(...new Uint8Array(digest)))
  const headers = { ...await pageHeaders(html, { frameAncestors }), etag: `"${tag}"` }

  return ({ headers: asked }) => {
    // A network that compresses on the way makes the tag a weak one.
    const known = (asked.get('if-none-match') ?? '').split(',').map(given => given.trim().replace(/^W\//, ''))
      .some(given => given === headers.etag || given === '*')
    return known
      ? new Response(null, { status: 304, headers })
      : new Response(html, { headers: { ...headers, 'content-type': 'text/html; charset=utf-8' } })
  }
}
