import { EventEmitter } from 'node:events'
import t, { type Test } from 'tap'
import { onShutdown } from '../../../lib/node/shutdown'

/** A process that only notes how it would have ended. */
function fakeProcess (t: Test, close: () => Promise<void>, deadlineMs = 60_000) {
  const process = Object.assign(new EventEmitter(), { codes: [] as number[], exit: (_code?: number): never => undefined as never })
  const exited = Promise.withResolvers<number>()
  process.exit = code => {
    process.codes.push(code ?? 0)
    exited.resolve(code ?? 0)
    return undefined as never
  }
  const lines: string[] = []
  const note = (_fields: object, message: string): void => { lines.push(message) }
  const closing = new Set<() => void>()
  t.teardown(() => closing.forEach(finish => finish()))
  const end = onShutdown({
    log: { info: note, warn: note, error: note },
    deadlineMs,
    from: process as unknown as NodeJS.Process,
    // Whatever a test leaves hanging ends with it, and its deadline too.
    close: () => Promise.race([close(), new Promise<void>(resolve => closing.add(resolve))])
  })
  return { process, end, lines, exited: exited.promise }
}

t.test('each signal closes once and ends with 0', async t => {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
    await t.test(signal, async t => {
      let closed = 0
      const { process, exited, lines } = fakeProcess(t, async () => { closed++ })
      process.emit(signal, signal)
      t.equal(await exited, 0)
      t.equal(closed, 1)
      t.match(lines[0], signal)
    })
  }
})

t.test('ending from inside and a signal after it close once', async t => {
  const closing = Promise.withResolvers<void>()
  let closed = 0
  const { process, end, exited } = fakeProcess(t, () => { closed++; return closing.promise })
  end('the agent has left')
  end('told to stop')
  process.emit('SIGTERM', 'SIGTERM')
  t.strictSame(process.codes, [], 'what is under way goes on')
  closing.resolve()
  t.equal(await exited, 0)
  t.equal(closed, 1)
})

t.test('a second signal does not wait', async t => {
  const { process, exited } = fakeProcess(t, () => new Promise(() => {}))
  process.emit('SIGINT', 'SIGINT')
  t.strictSame(process.codes, [])
  process.emit('SIGINT', 'SIGINT')
  t.equal(await exited, 1)
})

t.test('what does not close in time is ended all the same', async t => {
  const { process, exited, lines } = fakeProcess(t, () => new Promise(() => {}), 20)
  process.emit('SIGTERM', 'SIGTERM')
  t.equal(await exited, 1)
  t.match(lines.at(-1), /Not closed after 20 ms/)
})

t.test('a close that fails, and an error that nobody caught, are logged and end with 1', async t => {
  await t.test('close', async t => {
    const { process, exited, lines } = fakeProcess(t, async () => { throw new Error('disk') })
    process.emit('SIGTERM', 'SIGTERM')
    t.equal(await exited, 1)
    t.match(lines.at(-1), /Could not close in order/)
  })
  for (const event of ['uncaughtException', 'unhandledRejection']) {
    await t.test(event, async t => {
      const { process, exited, lines } = fakeProcess(t, async () => {})
      process.emit(event, new Error('nobody expected this'))
      t.equal(await exited, 1)
      t.match(lines, [/Unexpected error/])
    })
  }
})
