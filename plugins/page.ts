import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'
import { pageHeaders } from '../lib/page-policy'

// Beside the bundle once built, one folder up while developing.
const FOLDERS = ['./public/', '../public/'].map(folder => fileURLToPath(new URL(folder, import.meta.url)))

export interface PageOptions {
  /** The folder that holds the pages, and beside each what is compressed already. Found by itself where left out. */
  root?: string | undefined
  /** Which of them it is. The heads-up page where left out. */
  file?: string
  /** Where it is. The root of the scope where left out. */
  paths?: readonly string[]
  /** The page itself, where there is no folder to read it from. */
  html?: string
  /** Who may frame the page, beside its own origin. */
  frameAncestors?: string[]
}

/**
 * Serves a page, the heads-up page where nobody says which, with the policy that keeps agents' text from running. It needs
 * nothing: no decorator and no credential, for a page holds no ticket; the guard of the Host header belongs around it.
 * The policy is that of the file which is served: an installation that is replaced under a running daemon changes both
 * together.
 *
 * @throws Error at registration when the page is missing or `frameAncestors` holds what is no source.
 */
export default async function page (app: FastifyInstance, { root, html, frameAncestors, file: name = 'index.html', paths = ['/'] }: PageOptions): Promise<void> {
  const folder = root ?? FOLDERS.find(candidate => existsSync(join(candidate, name))) ?? FOLDERS[0]!
  if (html !== undefined) {
    const headers = await pageHeaders(html, { frameAncestors })
    const etag = `"${createHash('sha256').update(html).digest('base64url')}"`
    app.get('/', async (request, reply) => {
      reply.headers({ ...headers, etag })
      if (request.headers['if-none-match'] === etag) return reply.code(304).send()
      return reply.type('text/html; charset=utf-8').send(html)
    })
    return
  }

  const file = join(folder, name)
  const read = async (): Promise<{ version: string | undefined, headers: Record<string, string> }> => {
    const version = await versionOf(file)
    return { version, headers: await pageHeaders(await readFile(file, 'utf8'), { frameAncestors }) }
  }
  let current = await read()

  // Whole or not at all: nobody needs a part of it, and a part that is not there would be an error of its own.
  await app.register(fastifyStatic, { root: folder, serve: false, preCompressed: true, cacheControl: false, acceptRanges: false })
  for (const path of paths) {
    app.get(path, async (_request, reply) => {
      if (await versionOf(file) !== current.version) current = await read().catch(() => current)
      return reply.headers(current.headers).sendFile(name)
    })
  }
}

/** Another for each replacement of a file; undefined where there is none, as in the middle of one. */
async function versionOf (file: string): Promise<string | undefined> {
  try {
    const { mtimeMs, size } = await stat(file)
    return `${mtimeMs} ${size}`
  } catch { return undefined }
}
