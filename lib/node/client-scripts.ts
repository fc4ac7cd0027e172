import { createHash } from 'node:crypto'
import { HOOK_VERSION, WATCH_VERSION } from '../../client/versions'

// The bundle has them written in. From the sources they are made when they are asked for.
declare const READYROOM_HOOK_SCRIPT: string | undefined
declare const READYROOM_WATCH_SCRIPT: string | undefined

export type ScriptName = 'hook' | 'watch'

/** A file for an agent's machine. */
export interface ClientScript {
  name: ScriptName
  /** What it says of itself; raised whenever what it does changes. */
  version: string
  sha256: string
  text: string
}

const VERSIONS: Record<ScriptName, string> = { hook: HOOK_VERSION, watch: WATCH_VERSION }

let made: Promise<Record<ScriptName, ClientScript>> | undefined

/** The hook and the watcher, each one file that needs nothing but Node. */
export function clientScripts (): Promise<Record<ScriptName, ClientScript>> {
  made ??= texts().then(({ hook, watch }) => ({ hook: scriptOf('hook', hook), watch: scriptOf('watch', watch) }))
  return made
}

export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')

const scriptOf = (name: ScriptName, text: string): ClientScript => ({ name, version: VERSIONS[name], sha256: digestOf(text), text })

async function texts (): Promise<Record<ScriptName, string>> {
  if (typeof READYROOM_HOOK_SCRIPT === 'string' && typeof READYROOM_WATCH_SCRIPT === 'string') return { hook: READYROOM_HOOK_SCRIPT, watch: READYROOM_WATCH_SCRIPT }
  const builder = new URL('../../scripts/client-scripts.mjs', import.meta.url).href
  const { clientScripts } = await import(builder) as { clientScripts: () => Promise<Record<ScriptName, string>> }
  return clientScripts()
}
