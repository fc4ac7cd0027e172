import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { WatchMarks } from '../../client/watch-marks'
import { testFolder } from '../helpers/folder'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

/** A machine on which watchers start and are killed, and whose clock the test moves. */
function machine (t: Test, host = 'here', folder = testFolder(t)) {
  const alive = new Set<number>()
  const clock = { ms: Date.parse('2026-12-01T03:00:00Z') }
  let pids = 100
  return {
    folder,
    clock,
    files: () => readdirSync(folder),
    start (session?: string, pid = ++pids) {
      const marks = new WatchMarks(folder, 'key', { session, pid, host, isAlive: one => alive.has(one) })
      const from = marks.open(clock.ms)
      alive.add(pid)
      marks.touch(clock.ms)
      return {
        from,
        pid,
        say (last: number) { marks.save(last); marks.touch(clock.ms) },
        beat () { marks.touch(clock.ms) },
        isDisplaced () { return marks.isDisplaced() },
        kill () { alive.delete(pid) }
      }
    }
  }
}

t.test('a first watcher begins now; killed and started again it goes on where it was, a hundred times in one file', async t => {
  const { start, files } = machine(t)
  const first = start()
  t.equal(first.from, undefined)
  first.say(1)
  first.kill()
  for (let n = 1; n < 100; n++) {
    const next = start()
    t.equal(next.from, n)
    next.say(n + 1)
    next.kill()
  }
  t.equal(files().length, 1)
})

t.test('a second session begins now while another is there, and each has its own marks', async t => {
  for (const names of [[undefined, undefined], ['one', 'two'], [undefined, 'two'], ['one', undefined]] as const) {
    const { start, clock } = machine(t, 'here', join(testFolder(t), names.join('-')))
    const one = start(names[0])
    one.say(10)
    const two = start(names[1])
    t.equal(two.from, undefined)
    two.say(30)
    one.kill()
    clock.ms += MINUTE_MS
    two.beat()
    t.equal(start(names[0]).from, 10, 'the other has read on, and took nothing away')
  }
})

t.test('two sessions that were killed are each told what they had not been, whoever comes back first', async t => {
  for (const order of [['one', 'two'], ['two', 'one']]) {
    const { start } = machine(t, 'here', join(testFolder(t), order.join('-')))
    const said: Record<string, number> = { one: 10, two: 50 }
    const both = ['one', 'two'].map(name => {
      const watcher = start(name)
      watcher.say(said[name]!)
      return watcher
    })
    for (const watcher of both) watcher.kill()
    for (const name of order) t.equal(start(name).from, said[name], 'exactly, since the session has a name')
  }
  const { start } = machine(t)
  const both = [start(), start()]
  both[0]!.say(50)
  both[1]!.say(10)
  for (const watcher of both) watcher.kill()
  t.strictSame([start().from, start().from], [10, 10], 'from the lowest, since nobody knows which of them it is')
})

t.test('of two watchers in one session the newer has the place, until it is gone, and moves no mark of the other', async t => {
  const { start, files } = machine(t)
  const older = start('one')
  older.say(10)
  t.equal(older.isDisplaced(), false)
  const newer = start('one')
  t.equal(newer.from, 10)
  t.strictSame([older.isDisplaced(), newer.isDisplaced()], [true, false])
  newer.say(20)
  older.say(11)
  newer.kill()
  t.equal(older.isDisplaced(), false, 'nobody has it any more')
  const next = start('one')
  t.equal(next.from, 20)
  t.equal(files().length, 1)
  t.equal(start('two').isDisplaced(), false)
})

t.test('a session that is new goes on for the last that was here, unless one is; and one that comes back after weeks finds its mark', async t => {
  const { start, clock } = machine(t)
  const one = start('one')
  one.say(10)
  one.kill()
  clock.ms += 20 * 24 * HOUR_MS
  const two = start('two')
  t.equal(two.from, 10)
  two.say(90)
  t.equal(start('three').from, undefined)
  t.equal(start('one').from, 10)
})

t.test('sessions leave fifty files at most, and those of a month ago none', async t => {
  const { start, clock, files } = machine(t)
  for (let n = 0; n < 120; n++) {
    const watcher = start(`session ${n}`)
    watcher.say(n)
    watcher.kill()
    clock.ms += MINUTE_MS
  }
  t.ok(files().length <= 52, `${files().length}`)
  clock.ms += 31 * 24 * HOUR_MS
  start('another').say(1)
  t.equal(files().length, 1)
})

t.test('the mark of an older version is gone on from, and a file that holds no mark is none', async t => {
  for (const session of [undefined, 'one']) {
    const { start, clock } = machine(t, 'here', testFolder(t, { 'key.watch.json': '{"last":7}', 'key.watch-00.json': '{' }))
    clock.ms = Date.now()
    t.equal(start(session).from, 7)
  }
})

t.test('a number of a process that another program has by now hides no mark, and a long outage takes none away', async t => {
  const { start, clock, files } = machine(t)
  const one = start()
  one.say(10)
  clock.ms += 5 * MINUTE_MS
  const two = start()
  t.equal(two.from, 10, 'it gives no sign of life, so it may be another program; it may be a watcher without a server, too')
  two.say(40)
  t.equal(files().length, 2)
  one.say(11)
  one.kill()
  t.equal(start().from, 11)
  const self = machine(t, 'here', join(testFolder(t), 'pid'))
  self.start(undefined, 7).say(3)
  t.equal(self.start(undefined, 7).from, 3, 'our own number: it was somebody before us')
})

t.test('on a folder of several machines nobody takes the marks of another that is there', async t => {
  const here = machine(t)
  const there = machine(t, 'there', here.folder)
  here.start().say(10)
  t.equal(there.start().from, 10, 'which is where the log is by now')
  t.equal(here.files().length, 2)
})

t.test('a clock that was set back by hours loses no mark and keeps no file for ever', async t => {
  const { start, clock, files } = machine(t)
  const one = start()
  one.say(10)
  one.kill()
  clock.ms -= 5 * HOUR_MS
  const two = start()
  t.equal(two.from, 10)
  two.say(11)
  two.kill()
  t.equal(start().from, 11)
  t.equal(files().length, 1)
})

t.test('whatever comes and goes, whoever comes back within the hour is told all, and no file is left of those that do not', async t => {
  const step = fc.record({ what: fc.constantFrom('start', 'back', 'kill', 'say', 'pass'), which: fc.nat(5), how: fc.nat(20) })
  fc.assert(fc.property(fc.array(step, { maxLength: 40 }), steps => {
    const { start, clock, files } = machine(t, 'here', testFolder(t))
    type Session = { said: number, ended?: number, watcher: ReturnType<typeof start> }
    let sessions: Session[] = []
    let log = 1
    for (const { what, which, how } of steps) {
      const live = sessions.filter(({ ended }) => ended === undefined)
      const gone = sessions.filter(({ ended }) => ended !== undefined)
      if (what === 'start' && live.length < 4) {
        // One that is new takes the place of one that has ended, and which one that was nobody knows.
        sessions = live
        const watcher = start()
        watcher.say(log)
        sessions.push({ said: log, watcher })
      } else if (what === 'back' && gone.length > 0) {
        const session = gone[which % gone.length]!
        if (clock.ms - session.ended! >= HOUR_MS) { sessions = sessions.filter(one => one !== session); continue }
        const watcher = start()
        if (watcher.from === undefined || watcher.from > session.said) throw new Error(`told from ${watcher.from}, had heard up to ${session.said}`)
        watcher.say(log)
        Object.assign(session, { said: log, watcher, ended: undefined })
      } else if (what === 'kill' && live.length > 0) {
        const session = live[which % live.length]!
        session.watcher.kill()
        session.ended = clock.ms
      } else if (what === 'say') {
        log += how
        for (const [at, session] of live.entries()) if ((which >> at) % 2 === 0) { session.watcher.say(log); session.said = log }
      } else if (what === 'pass') {
        clock.ms += how * MINUTE_MS
        for (const { watcher } of live) watcher.beat()
      }
    }
    clock.ms += 2 * HOUR_MS
    for (const { watcher, ended } of sessions) if (ended === undefined) watcher.beat()
    start().say(log)
    const live = sessions.filter(({ ended }) => ended === undefined).length
    if (files().length > live + 1) throw new Error(`${files().length} files for ${live + 1} watchers`)
  }), { numRuns: 150 })
  t.pass('for a hundred and fifty lives')
})

t.test('a mark is for its owner’s eyes alone, and nothing of the session is in its name or its text', async t => {
  const { start, files, folder } = machine(t)
  start('a-session-of-somebody').say(1)
  for (const name of files()) {
    if (process.platform !== 'win32') t.equal(statSync(join(folder, name)).mode & 0o777, 0o600)
    t.notMatch(name + readFileSync(join(folder, name), 'utf8'), /somebody/)
  }
})
