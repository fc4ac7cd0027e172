import { existsSync } from 'node:fs'
import { INSTRUCTIONS } from '../../tools'
import { type Client, misread } from '../clients/clients'
import { findEntry, printEntry, putEntry } from '../clients/edit'
import type { Scope } from '../clients/names'
import type { Place } from '../clients/place'
import { changeSettings, readSettings } from '../clients/settings-file'
import { SettingsError } from '../clients/settings-error'
import type { Way } from '../clients/way'
import type { Output } from '../output'
import { RefusedError } from '../refused'
import { shellLines } from '../shell-line'

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
  out: Output
  /** For what is not part of the output. */
  note: (message: string) => void
  nowMs?: number
}

/**
 * Shows how a client is told of Ready Room, or tells it. Only the entry is on standard output, so that it can be piped.
 * @throws RefusedError where the client's settings cannot be read or changed; they are then as they were
 */
export async function setup ({ client, scope, way, place, write, again, remarks, out, note, nowMs = Date.now() }: SetupOptions): Promise<number> {
  const wrong = misread(client, way)
  if (wrong !== undefined) {
    throw new RefusedError(`${wrong} holds characters that ${client.title} replaces by the value of a variable. Choose a name without them, such as by a link to the folder.`)
  }
  const file = fileOf(client, scope, place)
  if (!write) {
    await out.write(printEntry(client, way))
    note(`This belongs into ${file}, beside whatever else is there. To put it there:\n${shellLines(again, place.platform).map(line => `  ${line}`).join('\n')}`)
    remarks.forEach(note)
    return 0
  }
  const changed = within(file, () => changeSettings(file, text => putEntry(client, text, way), { nowMs, secret: way.token.kind === 'inline' }))
  await out.write(changed === undefined
    ? `${client.title} knows Ready Room already: ${file} is as it was.\n`
    : `${client.title} knows Ready Room now: ${file}${changed.file === file ? '' : ` (${changed.file})`}.\n` +
      (changed.backup === undefined ? '' : `What was there before is kept in ${changed.backup}.\n`))
  if (within(file, () => findEntry(client, readSettings(file) ?? '')).off) remarks.push(`The entry is switched off in ${file}, and stays so until "enabled" or "disabled" there says otherwise.`)
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
