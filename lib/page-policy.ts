/** Which hosts may frame the page, beside its own. Each an origin or a source of the policy's grammar, such as `https://desk.example`. */
export interface PagePolicyOptions { frameAncestors?: string[] | undefined }

// What would end a source, a directive or the header itself.
const NOT_A_SOURCE = /[^!-~]|[;,]/

/**
 * The response headers of a page. Script and style are admitted by the hash of what stands in the file, so
 * that nothing else ever runs there; computed from the file itself, so that the two cannot part.
 *
 * @throws Error when `frameAncestors` holds what is no source, or the page has no script.
 */
export async function pageHeaders (html: string, { frameAncestors = [] }: PagePolicyOptions = {}): Promise<Record<string, string>> {
  for (const source of frameAncestors) {
    if (source === '' || NOT_A_SOURCE.test(source)) throw new Error(`frameAncestors: ${JSON.stringify(source)} is not a source; write an origin such as https://desk.example`)
  }
  const scripts = await hashesOf(html, 'script')
  if (scripts === '') throw new Error('The page has no inline script: the file is damaged.')
  const policy = [
    "default-src 'none'",
    `script-src ${scripts}`,
    `style-src ${await hashesOf(html, 'style') || "'none'"}`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    `frame-ancestors ${["'self'", ...frameAncestors].join(' ')}`
  ]
  return {
    'content-security-policy': policy.join('; '),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    // The tag is asked about each time: a page older than its server would speak another contract.
    'cache-control': 'no-cache'
  }
}

async function hashesOf (html: string, element: 'script' | 'style'): Promise<string> {
  // A browser hashes what its parser made of the text, and the parser turns every line end into a line feed.
  const text = html.replace(/\r\n?/g, '\n')
  const found = text.matchAll(new RegExp(`<${element}>([^]*?)</${element}>`, 'g'))
  return (await Promise.all(Array.from(found, match => sha256Source(match[1]!)))).join(' ')
}

async function sha256Source (text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return `'sha256-${btoa(String.fromCharCode(...new Uint8Array(digest)))}'`
}
