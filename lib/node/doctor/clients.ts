import { accessSync, constants, existsSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import type { Check } from '../../../schemas/doctor'
import { type Client, CLIENTS } from '../clients/clients'
import { findEntry, type Found } from '../clients/edit'
import { SCOPES, type Scope } from '../clients/names'
import { readSettings } from '../clients/settings-file'
import { readAddress } from '../clients/way'
import { variableOf } from '../config'
import { plain } from '../output'
import { ask } from './http'
import { fail, type Look, ok, type Scene, warn } from './scene'

/** What each client's settings say of Ready Room, and whether that still leads to it. */
export const lookAtClients: Look = async scene => {
  const checks = (await Promise.all(Object.values(CLIENTS).map(client => lookAt(client, scene)))).flat()
  return checks.some(({ known }) => known)
    ? checks.map(({ check }) => check)
    : [...checks.map(({ check }) => check), warn('clients', 'No client that is known here has been told of Ready Room.', 'readyroom setup claude --write, or codex, gemini, cursor, vscode, opencode')]
}

interface Looked { check: Check, known: boolean }

async function lookAt (client: Client, scene: Scene): Promise<Looked[]> {
  const looked: Looked[] = []
  for (const scope of SCOPES) {
    for (const file of client.files(scope, scene.place)) {
      const one = await lookAtFile(client, scope, file, scene)
      if (one !== undefined) looked.push(one)
    }
  }
  return looked.length > 0 ? looked : [{ check: ok(`client-${client.name}`, `${client.title} has no entry`), known: false }]
}

async function lookAtFile (client: Client, scope: Scope, file: string, scene: Scene): Promise<Looked | undefined> {
  const id = `client-${client.name}`
  let found: Found
  try {
    found = findEntry(client, readSettings(file) ?? '')
  } catch (err) {
    const line = (err as { line?: number }).line
    return { check: warn(id, `${file}${line === undefined ? '' : `, line ${line},`} ${(err as Error).message}.`.replaceAll(`${file} ${file}`, file), `Mend ${file}; ${client.title} may not be able to read it either`), known: false }
  }
  if (found.entry === undefined) return undefined
  const again = `readyroom setup ${client.name} --write${scope === 'project' ? ' --scope project' : ''}`
  if (found.off) return { check: warn(id, `The entry of ${client.title} is switched off.`, `Switch it on in ${file}`), known: true }
  return { check: await works(id, client, file, found.entry, again, scene), known: true }
}

async function works (id: string, client: Client, file: string, entry: Record<string, unknown>, again: string, scene: Scene): Promise<Check> {
  const url = entry['httpUrl'] ?? entry['url']
  if (typeof url === 'string') return reaches(id, client, file, url, entry['headers'] ?? entry['http_headers'], again, scene)
  const words = [entry['command'], entry['args']].flat().filter(word => typeof word === 'string')
  const [command, ...args] = words[0] === 'cmd' && words[1] === '/c' ? words.slice(2) : words
  if (command === undefined) return fail(id, `The entry of ${client.title} in ${file} names neither a command nor an address.`, again)
  if (!isThere(command, scene)) return fail(id, `The entry of ${client.title} starts ${plain(command, 200)}, which is not there (${file}).`, again)
  const script = args.find(word => isAbsolute(word) && /\.[cm]?[jt]s$/.test(word))
  if (script !== undefined && !existsSync(script)) return fail(id, `The entry of ${client.title} starts ${plain(script, 200)}, which is not there (${file}).`, again)
  const env = (entry['env'] ?? entry['environment'] ?? {}) as Record<string, unknown>
  const other = ([['port', String(scene.config.port)], ['state-dir', scene.config.stateDir]] as const)
    .find(([flag, value]) => env[variableOf(flag)] !== undefined && String(env[variableOf(flag)]) !== value)
  if (other !== undefined) {
    const name = variableOf(other[0])
    return warn(id, `${client.title} uses another queue than the one looked at here: ${name} is ${plain(String(env[name]), 200)} in its entry, and ${other[1]} here.`, `${again}, or set ${name} here to the same`)
  }
  return ok(id, `${client.title} starts it (${file})`)
}

async function reaches (id: string, client: Client, file: string, url: string, headers: unknown, again: string, { httpMs }: Scene): Promise<Check> {
  let address
  try {
    address = readAddress(url)
  } catch (err) {
    return fail(id, `The address in the entry of ${client.title} cannot be used: ${(err as Error).message} (${file}).`, again)
  }
  const origins = Object.entries((headers ?? {}) as Record<string, unknown>).filter(([name]) => name.toLowerCase() === 'origin')
  if (origins.length === 0) return warn(id, `The entry of ${client.title} sends no Origin, which the guard asks for (${file}).`, `${again} --url ${address.url}`)
  try {
    const { status, headers: { 'x-readyroom': mark } } = await ask(`${address.base}healthz`, { timeoutMs: httpMs })
    if (status === 200 && mark !== undefined) return ok(id, `${client.title} reaches it at ${address.url} (${file})`)
    return fail(id, `What answers at ${address.base}, which ${client.title} calls, is no Ready Room (${file}).`, again)
  } catch (err) {
    return fail(id, `${client.title} calls ${address.url}, where nothing answers: ${(err as Error).message}.`, address.loopback ? 'readyroom serve' : `readyroom doctor --url ${address.base}`)
  }
}

/** By the PATH of this shell, which a client need not have; the best that can be known from here. */
function isThere (command: string, { place: { env, platform } }: Scene): boolean {
  if (/[\\/]/.test(command)) return existsSync(command)
  const endings = platform === 'win32' ? ['', ...(env['PATHEXT'] ?? '.EXE;.CMD').split(';')] : ['']
  return (env['PATH'] ?? '').split(platform === 'win32' ? ';' : ':').filter(Boolean)
    .some(folder => endings.some(ending => isExecutable(join(folder, command + ending))))
}

function isExecutable (path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch { return false }
}
