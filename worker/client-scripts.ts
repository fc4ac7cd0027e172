import { HOOK_VERSION, WATCH_VERSION } from '../client/versions'
import { scriptsOf, type ClientScripts } from '../lib/client-scripts'
// Made of client/ before each build: see wrangler.toml.
import hook from './scripts/hook.txt'
import watch from './scripts/watch.txt'

let made: ClientScripts | undefined

/** The hook and the watcher, as text in what is uploaded. Digested when somebody asks first. */
export function clientScripts (): ClientScripts {
  made ??= scriptsOf({ hook, watch }, { hook: HOOK_VERSION, watch: WATCH_VERSION })
  return made
}
