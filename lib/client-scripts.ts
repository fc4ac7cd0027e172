import { hashOf } from './room/token-book'

// What is handed out for an agent's machine, the same on every target.

export type ScriptName = 'hook' | 'watch'

/** A file for an agent's machine. */
export interface ClientScript {
  name: ScriptName
  /** What it says of itself; raised whenever what it does changes. */
  version: string
  /** Of the text as UTF-8, hex. */
  sha256: string
  text: string
}

export type ClientScripts = Record<ScriptName, ClientScript>

/** The two files, by what they are called. */
export function scriptsOf (texts: Record<ScriptName, string>, versions: Record<ScriptName, string>): ClientScripts {
  const scriptOf = (name: ScriptName): ClientScript => ({ name, version: versions[name], sha256: hashOf(texts[name]), text: texts[name] })
  return { hook: scriptOf('hook'), watch: scriptOf('watch') }
}

/** Headers of a script that is handed out. */
export const scriptHeaders = ({ name, version, sha256 }: ClientScript): Record<string, string> => ({
  'content-type': 'text/javascript; charset=utf-8',
  'content-disposition': `attachment; filename="readyroom-${name}.mjs"`,
  'x-readyroom-version': version,
  'x-readyroom-sha256': sha256
})

/** What a client is told of the server and of the scripts that go with it. `prefix` is where the scripts are, without a slash at the end. */
export function clientInfo (version: string, scripts: ClientScripts, prefix: string) {
  const entry = ({ name, version, sha256 }: ClientScript) => ({ version, sha256, url: `${prefix}/${name}` })
  return { server: { name: 'readyroom', version }, scripts: { hook: entry(scripts.hook), watch: entry(scripts.watch) } }
}

/** The addresses whose answers a hook reads anyway, below `/v1`, and the header in which it learns there that it is old. */
export const TELLING: ReadonlySet<string> = new Set(['/unread', '/whats-new'])
export const HOOK_VERSION_HEADER = 'x-readyroom-hook-version'
