import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Disk } from '../lib/node/disk'
import { FileTicketStore } from '../lib/node/file-store'
import type { Decision } from '../lib/store'

const SECONDS = 1_000

/** A ticket of an ordinary size: about 700 bytes in the log. */
export function enqueued (id: string, at: number): Decision {
  const created = new Date(at).toISOString()
  return {
    ticket: {
      id,
      stream: 'agent in a project',
      question: 'The migration drops a column that two reports still read. Go on with it?',
      options: ['go on', 'keep the column', 'stop'],
      context: 'Column accounts.legacy_ref, 4,112 rows not null. '.repeat(4),
      urgency: 'normal',
      status: 'pending',
      created_at: created,
      expires_at: new Date(at + 1_800 * SECONDS).toISOString(),
      rev: 1
    },
    event: { event: 'enqueued', at: created, actor: 'agent in a project' }
  }
}

export function answered ({ ticket }: Decision, at: number): Decision {
  const answeredAt = new Date(at).toISOString()
  return {
    ticket: { ...ticket, status: 'answered', answer: 'go on', answered_by: 'human', answered_at: answeredAt, rev: 2 },
    event: { event: 'answered', at: answeredAt, actor: 'human' }
  }
}

let made = 0
export const newId = (): string => `01900000-0000-7000-8000-${String(made++).padStart(12, '0')}`

export async function withFolder<T> (use: (dir: string) => Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'readyroom-bench-'))
  try {
    return await use(dir)
  } finally {
    rmSync(dir, { recursive: true })
  }
}

export async function withStore<T> (dir: string, io: Disk, use: (store: FileTicketStore) => Promise<T>): Promise<T> {
  const store = new FileTicketStore({ dir, instance: 'bench', io })
  await store.load()
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}
