import t from 'tap'
import { claim, cycleOf, lapse, onTicket, release, renewed, setStatus, checkVersion, type TaskState } from '../../../lib/room/tasks'

const NOW = Date.parse('2026-05-01T10:00:00.000Z')
const ANN = { name: 'ann', admin: false }
const BOB = { name: 'bob', admin: false }
const ROOT = { name: 'root', admin: true }

const task = (change: Partial<TaskState> = {}): TaskState => ({
  id: 7, status: 'pending', owner: null, version: 3, ticket_id: null, freed_by: null, lease_seconds: null, lease_until: null, ...change
})
const after = (state: TaskState, decision: { change: Partial<TaskState> } | undefined): TaskState => ({ ...state, ...decision?.change })

t.test('a claim is the one way into progress, and a second one of the same agent changes nothing', async t => {
  const claimed = after(task(), claim(task(), ANN, NOW, [], null))
  t.match(claimed, { status: 'in_progress', owner: 'ann', version: 4, lease_until: null })
  t.equal(claim(claimed, ANN, NOW, [], null), undefined)
  t.throws(() => claim(claimed, BOB, NOW, [], null), { code: 'TASK_NOT_OWNED', message: /ann/ })
  t.throws(() => claim(claimed, ROOT, NOW, [], null), { code: 'TASK_NOT_OWNED' }, 'an admin does not take it from under its owner')
  t.throws(() => setStatus(claimed, 'in_progress', ANN), { code: 'BAD_REQUEST', message: /claim_task/ })
})

t.test('a claim before what it depends on is done names what that is', async t => {
  t.throws(() => claim(task(), ANN, NOW, [2, 5], null), { code: 'TASK_NOT_READY', message: /task 2, task 5/ })
})

t.test('nothing is left to claim of a task that is over, and one that is blocked without an owner stays', async t => {
  t.throws(() => claim(task({ status: 'done' }), ANN, NOW, [], null), { code: 'TASK_NOT_READY' })
  t.throws(() => claim(task({ status: 'cancelled' }), ANN, NOW, [], null), { code: 'TASK_NOT_READY' })
  t.throws(() => claim(task({ status: 'blocked', ticket_id: 'k' }), ANN, NOW, [], null), { code: 'TASK_NOT_READY', message: /ticket k/ })
})

t.test('only its owner or an admin changes how a task stands', async t => {
  const mine = task({ status: 'in_progress', owner: 'ann' })
  for (const status of ['blocked', 'done', 'cancelled', 'pending'] as const) {
    t.throws(() => setStatus(mine, status, BOB), { code: 'TASK_NOT_OWNED' }, status)
    t.equal(after(mine, setStatus(mine, status, ROOT)).status, status)
    t.equal(after(mine, setStatus(mine, status, ANN)).status, status)
  }
  t.throws(() => setStatus(task(), 'done', ANN), { code: 'TASK_NOT_OWNED', message: /claim it first/ })
  t.throws(() => release(mine, BOB), { code: 'TASK_NOT_OWNED' })
  t.match(after(mine, release(mine, ANN, 'lunch')), { status: 'pending', owner: null, version: 4 })
  t.equal(release(task(), BOB), undefined, 'what is nobody\'s is released already')
})

t.test('a lease runs from the claim, is renewed by its owner, and lapses into nobody\'s with a word of who lost it', async t => {
  const claimed = after(task(), claim(task(), ANN, NOW, [], 30))
  t.equal(claimed.lease_until, new Date(NOW + 30_000).toISOString())
  t.equal(lapse(claimed, NOW + 29_999), undefined)
  t.equal(renewed(claimed, NOW + 20_000), new Date(NOW + 50_000).toISOString())
  const lapsed = lapse(claimed, NOW + 30_000)
  t.match(lapsed, { change: { status: 'pending', owner: null }, event: { kind: 'task_lapsed', body: /ann/ } })
  t.equal(renewed(claimed, NOW + 30_000), undefined, 'too late')
  t.throws(() => setStatus(after(claimed, lapsed), 'done', ANN), { code: 'TASK_NOT_OWNED' }, 'the late owner')
})

t.test('a lease stands still while the task waits for a ticket, and begins anew when the answer is there', async t => {
  const claimed = after(task(), claim(task(), ANN, NOW, [], 30))
  const blocked = after(claimed, setStatus(claimed, 'blocked', ANN, 'k'))
  t.match(blocked, { status: 'blocked', ticket_id: 'k', lease_until: null, owner: 'ann' })
  t.equal(lapse(blocked, NOW + 86_400_000), undefined)
  const freed = after(blocked, onTicket(blocked, 'k', 'answered', NOW + 500_000))
  t.match(freed, { status: 'in_progress', owner: 'ann', ticket_id: null, freed_by: 'k', lease_until: new Date(NOW + 530_000).toISOString() })
})

t.test('an answer or a default frees what waits; without an owner it is pending', async t => {
  const blocked = task({ status: 'blocked', ticket_id: 'k' })
  t.match(after(blocked, onTicket(blocked, 'k', 'default', NOW)), { status: 'pending', owner: null, ticket_id: null })
  t.equal(onTicket(blocked, 'other', 'answered', NOW), undefined)
  for (const outcome of ['expired', 'cancelled'] as const) t.equal(onTicket(blocked, 'k', outcome, NOW), undefined, `${outcome}: it stays blocked`)
})

t.test('an undo blocks again what that very answer freed, unless it is over', async t => {
  const freed = task({ status: 'in_progress', owner: 'ann', freed_by: 'k' })
  t.match(after(freed, onTicket(freed, 'k', 'undone', NOW)), { status: 'blocked', ticket_id: 'k', owner: 'ann' })
  t.equal(onTicket(task({ status: 'done', freed_by: 'k' }), 'k', 'undone', NOW), undefined)
  t.equal(onTicket(task({ status: 'in_progress', freed_by: 'other' }), 'k', 'undone', NOW), undefined)
})

t.test('a version that is not the newest is refused, naming both', async t => {
  checkVersion(task(), 3)
  checkVersion(task(), undefined)
  t.throws(() => checkVersion(task(), 2), { code: 'TASK_CHANGED', message: /version 3.*not 2/ })
})

t.test('a circle of dependencies is found with its path, a long line is none', async t => {
  const edges: Record<number, number[]> = { 1: [2], 2: [3, 4], 3: [], 4: [1], 5: [5] }
  t.strictSame(cycleOf(1, id => edges[id] ?? []), [1, 2, 4, 1])
  t.strictSame(cycleOf(5, id => edges[id] ?? []), [5, 5])
  t.equal(cycleOf(3, id => edges[id] ?? []), undefined)
  t.equal(cycleOf(0, id => id < 5_000 ? [id + 1] : []), undefined)
})
