import t from 'tap'
import { SnapshotKeeper } from '../../../lib/node/snapshot-keeper'
import { memoryLog } from '../../helpers/file-store'

/** A keeper whose next write can be awaited, and is as large as `size` says. */
function make (size = 100) {
  const log = memoryLog()
  const state = { log, size, writes: 0, next: Promise.withResolvers<void>(), fail: undefined as Error | undefined }
  const keeper = new SnapshotKeeper({
    log,
    delayMs: 1,
    async write () {
      state.writes++
      const { next } = state
      state.next = Promise.withResolvers()
      next.resolve()
      if (state.fail !== undefined) throw state.fail
      return state.size
    }
  })
  return Object.assign(state, { keeper })
}

// Timers of one length fire in the order in which they were set: when this one has, the keeper's has too.
const timerHasFired = () => new Promise(resolve => setTimeout(resolve, 1))

t.test('many changes make one snapshot, and the end makes another only if something changed since', async t => {
  const it = make()
  const written = it.next.promise
  for (let i = 0; i < 50; i++) it.keeper.touch(1, 10)
  await written
  t.equal(it.writes, 1)
  await it.keeper.close()
  t.equal(it.writes, 1)

  const other = make()
  other.keeper.touch(1, 10)
  await other.keeper.close()
  t.equal(other.writes, 1)
  await make().keeper.close()
})

t.test('a large snapshot waits until a good part of it has changed, or many entries have come', async t => {
  const it = make(1_000_000)
  let written = it.next.promise
  it.keeper.touch(1, 10)
  await written
  it.keeper.touch(1, 10)
  await timerHasFired()
  t.equal(it.writes, 1)
  written = it.next.promise
  it.keeper.touch(1, 250_000)
  await written
  t.equal(it.writes, 2)
  written = it.next.promise
  it.keeper.touch(1_000, 10)
  await written
  t.equal(it.writes, 3)
  await it.keeper.close()
})

t.test('one that failed is said, and made up for', async t => {
  const it = make()
  it.fail = new Error('no room')
  const written = it.next.promise
  it.keeper.touch(1, 10)
  await written
  it.fail = undefined
  await it.keeper.close()
  t.equal(it.writes, 2)
  t.match(it.log.lines, [/^warn .*could not be written.*no room/])
})
