// Run as a process of its own: `room-child.ts <file> <round>`. Does everything that writes in a room, over and over, many
// at a time, and writes to stdout what the store has acknowledged, a JSON line each, until it is killed.
import { writeSync } from 'node:fs'
import { SqliteRoomStore } from '../../lib/node/room/sqlite-room-store'
import type { CommandName, InputOf, OutputOf } from '../../lib/room/store'

/** One thing that was acknowledged. */
export type Promised =
  | { what: 'message', id: number, body: string, acked: boolean }
  | { what: 'task', id: number, status: string, version: number }
  | { what: 'note', id: number, task: number }
  | { what: 'file', id: number, sha256: string }
  | { what: 'deleted', id: number }
  | { what: 'cursor', agent: string, through: number }
  | { what: 'token', id: number, revoked: boolean }
  | { what: 'alias', alias: string, agent: string }
  | { what: 'attention', agent: string, wakeups: number }
  | { what: 'delivery', ticket: string, isRead: boolean }

if (import.meta.main) {
  const [file, round] = process.argv.slice(2) as [string, string]
  const store = new SqliteRoomStore(file)
  await store.open()
  const say = (promised: Promised): void => { writeSync(1, `${JSON.stringify(promised)}\n`) }
  const as = (name: string) => async <N extends CommandName>(command: N, input: InputOf<N>): Promise<OutputOf<N>> =>
    (await store.run(command, { actor: { name, kind: 'agent', admin: false }, room: 'ops', now: Date.now() }, input)).result
  await as('root')('addRoom', {})

  await Promise.all(Array.from({ length: 8 }, async (_, worker) => {
    const name = `w${worker}`
    const me = as(name)
    let wakeups = 0
    for (let n = 0; ; n++) {
      const body = `${round}-${worker}-${n} ${'x'.repeat(n % 5 * 400)}`
      const { id } = await me('postMessage', { body, to: ['w0'], require_ack: true })
      say({ what: 'message', id, body, acked: false })
      await as('w0')('ackMessage', { message_id: id })
      say({ what: 'message', id, body, acked: true })
      const task = await me('createTask', { title: body })
      say({ what: 'task', id: task.id, status: task.status, version: task.version })
      const claimed = await me('claimTask', { task_id: task.id, lease_seconds: 3_600 })
      say({ what: 'task', id: task.id, status: claimed.status, version: claimed.version })
      const note = await me('addNote', { task_id: task.id, body })
      say({ what: 'note', id: note.id, task: task.id })
      const done = n % 2 === 0 ? await me('updateTask', { task_id: task.id, status: 'done' }) : await me('releaseTask', { task_id: task.id })
      say({ what: 'task', id: task.id, status: done.status, version: done.version })
      const put = await me('putFile', { name: `f${n}`, content_base64: btoa(body), max_bytes: 10_000 })
      say({ what: 'file', id: put.id, sha256: put.sha256 })
      if (n % 3 === 0) {
        await me('deleteFile', { file_id: put.id })
        say({ what: 'deleted', id: put.id })
      }
      const { through } = n % 2 === 0 ? await me('whatsNew', {}) : await me('commitCursor', { through: 1_000_000_000 })
      say({ what: 'cursor', agent: name, through })
      const token = await me('mintToken', { hash: crypto.randomUUID(), agent: `a-${round}-${worker}-${n}`, role: 'agent', home: 'ops' })
      say({ what: 'token', id: token.id, revoked: false })
      await me('revokeTokens', { id: token.id })
      say({ what: 'token', id: token.id, revoked: true })
      const alias = `x-${round}-${worker}-${n}`
      await me('setAlias', { alias, agent: name })
      say({ what: 'alias', alias, agent: name })
      await me('noteAttention', { kind: 'wake' })
      say({ what: 'attention', agent: name, wakeups: ++wakeups })
      const ticket = `${round}-${worker}-${n}`
      const at = new Date().toISOString()
      await me('noteDeliveries', { marks: [{ kind: 'delivered', asker: name, at, room: 'ops', ticket_id: ticket, rev: 2 }] })
      say({ what: 'delivery', ticket, isRead: false })
      await me('noteDeliveries', { marks: [{ kind: 'read', asker: name, at }] })
      say({ what: 'delivery', ticket, isRead: true })
    }
  }))
}
