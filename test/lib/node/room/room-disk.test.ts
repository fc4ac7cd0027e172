import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { SqliteRoomStore } from '../../../../lib/node/room/sqlite-room-store'

const HEAD = { actor: { name: 'ann', kind: 'agent', admin: false }, room: 'ops', now: Date.parse('2026-05-01T10:00:00.000Z') } as const

/** How large a file of this process may become, in bytes: beyond it the disk is full for it. False where nobody can say so. */
const limit = (bytes: number | 'unlimited'): boolean =>
  spawnSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`], { stdio: 'ignore' }).status === 0

// The kernel says it with a signal, too, which would end us (setrlimit(2)).
process.on('SIGXFSZ', () => {})

const can = process.platform === 'linux' && limit('unlimited')

t.test('a disk that is full is said in a sentence, loses nothing that was acknowledged, and is over when it is over',
  { skip: can ? false : 'it takes prlimit, which Linux has' }, async t => {
    const store = new SqliteRoomStore(join(t.testdir(), 'room.db'))
    await store.open()
    t.teardown(() => store.close())
    t.teardown(() => { limit('unlimited') })
    await store.run('addRoom', HEAD, {})
    const post = async (n: number): Promise<number> => (await store.run('postMessage', HEAD, { body: `${n} ${'x'.repeat(8_000)}` })).result.id

    t.ok(limit(1_000_000))
    const acknowledged = new Map<number, number>()
    const refusals: Array<{ code?: string, message: string }> = []
    for (let n = 0; refusals.length < 5 && n < 1_000; n++) {
      // Several at a time are one transaction: all of it is refused, or none.
      const results = await Promise.allSettled([post(n * 3), post(n * 3 + 1), post(n * 3 + 2)])
      for (const [at, result] of results.entries()) {
        if (result.status === 'fulfilled') acknowledged.set(result.value, n * 3 + at)
        else refusals.push(result.reason as Error)
      }
    }
    t.ok(acknowledged.size >= 3)
    t.ok(refusals.length >= 5)
    for (const refusal of refusals) t.match(refusal, { code: 'STORE_UNAVAILABLE', message: /nothing of it was saved\. Check the disk/ })
    t.match((await store.run('readMessages', HEAD, { since_id: 0, limit: 1 })).result.messages, [{ id: 1 }], 'what is there can be read meanwhile')

    t.ok(limit('unlimited'))
    const id = await post(-1)
    t.equal(id, Math.max(...acknowledged.keys()) + 1, 'no number was used up by what was refused')
    const read = new Map<number, number>()
    for (let since: number | undefined = 0; since !== undefined;) {
      const { result }: { result: { messages: Array<{ id: number, body: string }>, next?: number } } = await store.run('readMessages', HEAD, { since_id: since })
      for (const { id, body } of result.messages) read.set(id, Number(body.split(' ')[0]))
      since = result.next
    }
    t.strictSame([...read].filter(([other]) => other !== id), [...acknowledged].sort(([a], [b]) => a - b))
  })
