import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { boundedText } from '../bounded-text'
import { clientScripts, digestOf, type ScriptName } from '../client-scripts'
import { HOOK_FILE, hookEntry, putHooks } from '../clients/hook-settings'
import type { Scope } from '../clients/names'
import { at, folderOf, type Place } from '../clients/place'
import { SettingsError } from '../clients/settings-error'
import { changeSettings } from '../clients/settings-file'
import { explainDiskError } from '../disk-error'
import type { Output } from '../output'
import { RefusedError } from '../refused'
import { shellLines } from '../shell-line'

export interface SetupHookOptions {
  scope: Scope
  place: Place
  write: boolean
  /** The Node that will run it. */
  node: string
  /** A server to fetch the files from, and a token for it; unset, they are this release's own. */
  from?: { url: string, token: string | undefined } | undefined
  /** The words that run this again with `--write`. */
  again: string[]
  out: Output
  note: (message: string) => void
  nowMs?: number
}

const FETCH_MS = 15_000
const MAX_BYTES = 1_048_576

/**
 * Puts the hook and the watcher on this machine, and tells Claude Code of the hook; or shows what it would write. Twice
 * changes nothing.
 * @throws RefusedError where something cannot be fetched, read or changed; the settings are then as they were
 */
export async function setupHook ({ scope, place, write, node, from, again, out, note, nowMs = Date.now() }: SetupHookOptions): Promise<number> {
  const own = folderOf(place, 'CLAUDE_CONFIG_DIR') ?? at(place, place.home, '.claude')
  const settings = scope === 'project' ? at(place, place.cwd, '.claude', 'settings.local.json') : at(place, own, 'settings.json')
  const file = at(place, own, 'hooks', HOOK_FILE)
  const watcher = at(place, own, 'hooks', 'readyroom-watch.mjs')
  const edit = (text: string): string => within(settings, () => putHooks(text, hookEntry(node, file)))
  if (!write) {
    await out.write(edit(''))
    note(`This belongs into ${settings}, beside whatever else is there, and the hook into ${file}. To put them there:\n` +
      shellLines(again, place.platform).map(line => `  ${line}`).join('\n'))
    return 0
  }
  const texts = from === undefined ? await ownTexts() : { hook: await fetched('hook', from), watch: await fetched('watch', from) }
  const isNew = [put(file, texts.hook), put(watcher, texts.watch)].includes(true)
  const changed = within(settings, () => changeSettings(settings, edit, { nowMs, secret: false }))
  await out.write(changed === undefined && !isNew
    ? `Claude Code has the hook already: ${settings} and ${file} are as they were.\n`
    : `Claude Code has the hook now: ${settings} starts ${file}.\n` + (changed?.backup === undefined ? '' : `What was there before is kept in ${changed.backup}.\n`))
  note('The hook and the watcher read READYROOM_URL and READYROOM_AGENT_TOKEN from the environment that Claude Code is started in. To see whether it works:\n' +
    shellLines(['node', file, '--selfcheck'], place.platform).map(line => `  ${line}`).join('\n') +
    '\nAn agent wakes by the watcher, which it starts as a monitor:\n' + shellLines(['node', watcher], place.platform).map(line => `  ${line}`).join('\n'))
  return 0
}

async function ownTexts (): Promise<Record<ScriptName, string>> {
  const { hook, watch } = await clientScripts()
  return { hook: hook.text, watch: watch.text }
}

/** A file from a server, which must be what it says of itself. @throws RefusedError */
async function fetched (name: ScriptName, { url, token }: { url: string, token: string | undefined }): Promise<string> {
  const address = new URL(`v1/${name}`, url).href
  let response: Response
  let text: string
  try {
    response = await fetch(address, { redirect: 'error', signal: AbortSignal.timeout(FETCH_MS), headers: token === undefined ? {} : { authorization: `Bearer ${token}` } })
    text = await boundedText(response, MAX_BYTES)
  } catch (err) {
    throw new RefusedError(`${address} cannot be fetched: ${(err as Error).message}. Check the address, then try again.`, { cause: err })
  }
  if (response.status !== 200) {
    const why = response.status === 401 ? 'set READYROOM_AGENT_TOKEN to a token of that server' : 'check that a Ready Room with rooms is there'
    throw new RefusedError(`${address} answered ${response.status}: ${why}, then try again.`)
  }
  if (response.headers.get('x-readyroom-sha256') !== digestOf(text)) {
    throw new RefusedError(`${address} sent something else than what it says that it sends: its SHA-256 does not match. Nothing was changed.`)
  }
  return text
}

/** Whether the file had to be written. In one step: an agent may start it at any moment. @throws RefusedError */
function put (file: string, text: string): boolean {
  try {
    if (textOf(file) === text) return false
    mkdirSync(dirname(file), { recursive: true })
    const temporary = `${file}.${process.pid}.tmp`
    writeFileSync(temporary, text, { mode: 0o755 })
    chmodSync(temporary, 0o755)
    renameSync(temporary, file)
    return true
  } catch (err) {
    const { what, remedy } = explainDiskError(err)
    throw new RefusedError(`${file} could not be written: ${what}. ${remedy}, then try again.`, { cause: err })
  }
}

function textOf (file: string): string | undefined {
  try { return readFileSync(file, 'utf8') } catch { return undefined }
}

function within<T> (file: string, act: () => T): T {
  try {
    return act()
  } catch (err) {
    if (!(err instanceof SettingsError)) throw err
    throw new RefusedError(`${file}${err.line === undefined ? '' : `, line ${err.line},`} ${err.message}. It is left as it was; mend it, then try again.`, { cause: err })
  }
}
