import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type FileStoreOptions, FileTicketStore } from '../../lib/node/file-store'
import type { Log } from '../../lib/node/log'
import { START } from './decisions'

/** Keeps what was logged, as `level message`. */
export function memoryLog (): Log & { lines: string[] } {
  const lines: string[] = []
  const at = (level: string) => (_: object, message: string) => { lines.push(`${level} ${message}`) }
  return { lines, info: at('info'), warn: at('warn'), error: at('error') }
}

/** A loaded store in a folder, closed at the end of the test. */
export async function openStore (t: Test, dir: string, more: Partial<FileStoreOptions> = {}): Promise<FileTicketStore> {
  const store = new FileTicketStore({ dir, instance: 'test', now: () => START, ...more })
  t.teardown(() => store.close())
  await store.load()
  return store
}

export const logLines = (dir: string): string[] => readFileSync(join(dir, 'audit.jsonl'), 'utf8').split('\n').slice(0, -1)

/** The files of a state folder whose name holds a word. */
export const filesLike = (dir: string, word: string): string[] => readdirSync(dir).filter(name => name.includes(word)).sort()
