import { createHash } from 'node:crypto'
import { HOOK_VERSION, WATCH_VERSION } from '../../client/versions'
import { scriptsOf, type ClientScripts, type ScriptName } from '../client-scripts'

export type { ClientScript, ScriptName } from '../client-scripts'

// The bundle has them written in. From the sources they are made when they are asked for.
declare const READYROOM_HOOK_SCRIPT: string | undefined
declare const READYROOM_WATCH_SCRIPT: string | undefined

let made: Promise<ClientScripts> | undefined

/** The hook and the watcher, each one file that needs nothing but Node. */
export function clientScripts (): Promise<ClientScripts> {
  made ??= texts().then(both => scriptsOf(both, { hook: HOOK_VERSION, watch: WATCH_VERSION }))
  return made
}

export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')

async function texts (): Promise<Record<ScriptName, string>> {
  if (typeof READYROOM_HOOK_SCRIPT === 'string' && typeof READYROOM_WATCH_SCRIPT === 'string') return { hook: READYROOM_HOOK_SCRIPT, watch: READYROOM_WATCH_SCRIPT }
  const builder = new URL('../../scripts/client-scripts.mjs', import.meta.url).href
  const { clientScripts } = await import(builder) as { clientScripts: () => Promise<Record<ScriptName, string>> }
  return clientScripts()
}
