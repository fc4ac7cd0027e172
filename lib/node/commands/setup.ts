import { existsSync } from 'node:fs'
import { INSTRUCTIONS } from '../../tools'
import { agentTokenIn } from '../clients/agent-token'
import { type Client, misread } from '../clients/clients'
import { findEntry, type Found, printEntry, putEntry } from '../clients/edit'
import type { Scope } from '../clients/names'
import type { Place } from '../clients/place'
import { type Changed, changeSettings, readSettings } from '../clients/settings-file'
import { SettingsError } from '../clients/settings-error'
import type { Way } from '../clients/way'
import type { Output } from '../output'
import { RefusedError } from '../refused'
import { shellLines } from '../shell-line'
import { tokenFor, type TokenWishes } from './setup-token'

export interface SetupOptions {
  client: Client
  scope: Scope
  way: Way
  place: Place
  write: boolean
  /** The words that run this again with `--write`. */
  again: string[]
  /** What the person should know, whichever way it goes. */
  remarks: string[]
  wishes: TokenWishes
  out: Output
  /** For what is not part of the output. */
  note: (message: string) => void
  nowMs?: number
}

/**
 * Shows how a client is told of Ready Room, or tells it. Only the entry is on standard output, so that it can be piped.
 * Twice changes nothing, and mints nothing.
 * @throws RefusedError where the client's settings cannot be read or changed; they are then as they were
 * @throws ConfigError, and what the minting of a token refuses
 */
export async function setup (options: SetupOptions): Promise<number> {
  const { client, scope, place, write, again, remarks, wishes, out, note, nowMs = Date.now() } = options
  const file = fileOf(client, scope, place)
  const look = (): Found => within(file, () => findEntry(client, readSettings(file) ?? ''))
  const { use, takeBack } = await tokenFor(options, wishes, write ? agentTokenIn(look().entry) : undefined)
  const way: Way = { ...options.way, token: use }
  let changed: Changed | undefined
  try {
    const wrong = misread(client, way)
    if (wrong !== undefined) {
      throw new RefusedError(`${wrong} holds characters that ${client.title} replaces by the value of a variable. Choose a name without them, such as by a link to the folder.`)
    }
    if (write) changed = within(file, () => changeSettings(file, text => putEntry(client, text, way), { nowMs, secret: use.kind === 'inline' }))
  } catch (err) {
    await takeBack()
    throw err
  }
  if (!write) {
    await out.write(printEntry(client, way))
    note(`This belongs into ${file}, beside whatever else is there. To put it there:\n${shellLines(again, place.platform).map(line => `  ${line}`).join('\n')}`)
    remarks.forEach(note)
    return 0
  }
  await out.write(changed === undefined
    ? `${client.title} knows Ready Room already: ${file} is as it was.\n`
    : `${client.title} knows Ready Room now: ${file}${changed.file === file ? '' : ` (${changed.file})`}.\n` +
      (changed.backup === undefined ? '' : `What was there before is kept in ${changed.backup}.\n`))
  if (look().off) remarks.push(`The entry is switched off in ${file}, and stays so until "enabled" or "disabled" there says otherwise.`)
  remarks.forEach(note)
  return 0
}

/** The paragraph that teaches an agent when to ask, word for word what the server tells it. */
export async function instructions ({ teaches, out, note }: { teaches: string, out: Output, note: (message: string) => void }): Promise<number> {
  await out.write(`## Asking the person\n\n${INSTRUCTIONS.replaceAll('. ', '.\n')}\n`)
  note(`This belongs into ${teaches} of a project.`)
  return 0
}

/** The first that is there, or else the first. */
export const fileOf = ({ files }: Client, scope: Scope, place: Place): string => {
  const candidates = files(scope, place)
  return candidates.find(file => existsSync(file)) ?? candidates[0]!
}

function within<T> (file: string, act: () => T): T {
  try {
    return act()
  } catch (err) {
    if (!(err instanceof SettingsError)) throw err
    throw new RefusedError(`${file}${err.line === undefined ? '' : `, line ${err.line},`} ${err.message}. It is left as it was; mend it, then try again.`, { cause: err })
  }
}
