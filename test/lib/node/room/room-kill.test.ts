import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import type { Promised } from '../../../helpers/room-child'
import { SqliteRoomStore } from '../../../../lib/node/room/sqlite-room-store'

const root = resolve(import.meta.dirname, '../../../..')

/** Lets a child write into the rooms until it has acknowledged so much, and kills it. What it has acknowledged. */
async function killed (t: Test, file: string, round: number, acknowledged: number): Promise<Promised[]> {
  const child = spawn(process.execPath, [`--import=${join(root, 'ts-hooks.mjs')}`, join(root, 'test/helpers/room-child.ts'), file, String(round)],
    { stdio: ['ignore', 'pipe', 'inherit'] })
  const gone = once(child, 'exit')
  t.teardown(() => child.kill('SIGKILL'))
  const promised: Promised[] = []
  for await (const line of createInterface(child.stdout)) {
    promised.push(JSON.parse(line) as Promised)
    // What is still in the pipe after this was acknowledged as well, so it is read to its end.
    if (promised.length === acknowledged) child.kill('SIGKILL')
  }
  t.equal((await gone)[1], 'SIGKILL', 'killed while it was at work')
  return promised
}

/** What of that is not there. */
function missing (database: DatabaseSync, promised: readonly Promised[]): Promised[] {
  const row = (sql: string, ...values: Array<string | number>) => database.prepare(sql).get(...values) as Record<string, unknown> | undefined
  // A file that went later is no loss.
  const deleted = new Set(promised.filter(({ what }) => what === 'deleted').map(item => (item as { id: number }).id))
  const isLost = (item: Promised): boolean => {
    switch (item.what) {
      case 'message': return row('SELECT body FROM messages WHERE room = ? AND id = ?', 'ops', item.id)?.['body'] !== item.body ||
        (item.acked && row('SELECT agent FROM acks WHERE room = ? AND message_id = ?', 'ops', item.id)?.['agent'] !== 'w0')
      case 'task': {
        const task = row('SELECT status, version FROM tasks WHERE room = ? AND id = ?', 'ops', item.id)
        return task === undefined || Number(task['version']) < item.version || (task['version'] === item.version && task['status'] !== item.status)
      }
      case 'note': return row('SELECT task_id FROM notes WHERE room = ? AND id = ?', 'ops', item.id)?.['task_id'] !== item.task
      case 'file': return row('SELECT sha256 FROM files WHERE room = ? AND id = ?', 'ops', item.id)?.['sha256'] !== item.sha256 && !deleted.has(item.id) &&
        row("SELECT id FROM events WHERE room = ? AND kind = 'file_deleted' AND file_id = ?", 'ops', item.id) === undefined
      case 'deleted': return row('SELECT id FROM files WHERE room = ? AND id = ?', 'ops', item.id) !== undefined
      case 'cursor': return !(Number(row('SELECT through FROM cursors WHERE room = ? AND agent = ?', 'ops', item.agent)?.['through']) >= item.through)
      case 'token': {
        const token = row('SELECT revoked_at FROM tokens WHERE id = ?', item.id)
        return token === undefined || (item.revoked && token['revoked_at'] === null)
      }
      case 'alias': return row('SELECT agent FROM aliases WHERE room = ? AND alias = ?', 'ops', item.alias)?.['agent'] !== item.agent
      case 'attention': return !(Number(row('SELECT sum(wakeups) AS n FROM attention WHERE room = ? AND agent = ?', 'ops', item.agent)?.['n']) >= item.wakeups)
      case 'delivery': return row('SELECT rev FROM deliveries WHERE ticket_id = ? AND delivered_at IS NOT NULL AND (? = 0 OR read_at IS NOT NULL)',
        item.ticket, Number(item.isRead)) === undefined
    }
  }
  return promised.filter(isLost)
}

t.test('a kill at any instant loses nothing of what the room acknowledged: messages, tasks, notes, files, cursors, tokens, aliases, counts, marks', { timeout: 240_000 }, async t => {
  const file = join(t.testdir(), 'room.db')
  const promised: Promised[] = []
  for (let round = 0; round < 6; round++) {
    promised.push(...await killed(t, file, round, 30 + round * 77))
    // Opened as the next daemon would: what the kill left half is undone first.
    const store = new SqliteRoomStore(file)
    await store.open()
    await store.close()
    const database = new DatabaseSync(file, { readOnly: true })
    t.strictSame(missing(database, promised), [], `round ${round}`)
    t.match(database.prepare('PRAGMA integrity_check').get(), { integrity_check: 'ok' })
    const gaps = database.prepare('SELECT event_seq, (SELECT count(*) FROM events WHERE room = name) AS written FROM rooms').all()
    for (const { event_seq: seq, written } of gaps) t.equal(written, seq, 'the log has no hole: nothing was half')
    database.close()
  }
  t.ok(promised.length > 1_000)
})
