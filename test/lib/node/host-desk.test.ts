import { on, once } from 'node:events'
import t, { type Test } from 'tap'
import { Desk } from '../../../lib/desk'
import { ReadyroomError } from '../../../lib/errors'
import { MemoryTicketStore } from '../../../lib/memory-store'
import { HostDesk } from '../../../lib/node/host-desk'
import { Presence } from '../../../lib/presence'
import type { AskHumanInput } from '../../../schemas/mcp'
import { Clock } from '../../helpers/build'

async function open (t: Test, { stream }: { stream?: string } = { stream: 'host' }) {
  const clock = new Clock()
  const desk = await new Desk(new MemoryTicketStore({ now: clock.now }), { now: clock.now }).open()
  t.teardown(() => desk.close())
  const logged: Array<{ fields: Record<string, unknown>, message: string }> = []
  const log = { error: (fields: object, message: string) => { logged.push({ fields: { ...fields }, message }) } }
  return { clock, desk, logged, host: new HostDesk({ desk, presence: new Presence(), stream, log }) }
}

t.test('a host asks by the rules of the tool, with its defaults and its refusals', async t => {
  const { host } = await open(t)
  const ticket = await host.ask({ question: 'Ship it?', options: [' yes ', 'no'], context: '' })
  t.match(ticket, { stream: 'host', question: 'Ship it?', options: ['yes', 'no'], urgency: 'normal', status: 'pending', rev: 1 })
  t.notOk('context' in ticket)
  t.equal(Date.parse(ticket.expires_at) - Date.parse(ticket.created_at), 1_800_000)
  t.equal((await host.ask({ question: 'q', stream: 'another' })).stream, 'another')

  const refused: Array<[AskHumanInput, RegExp]> = [
    [{ question: ' ' }, /^question must say/],
    [{ question: 'q', options: ['one'] }, /^options must have at least 2 entries/],
    [{ question: 'q', timeout_seconds: 0 }, /^timeout_seconds must be at least 1/],
    [{ question: 'q', colour: 'red' } as AskHumanInput, /unknown field "colour"/],
    [undefined as unknown as AskHumanInput, /^ask_human must be an object/]
  ]
  for (const [input, message] of refused) await t.rejects(host.ask(input), { name: 'ReadyroomError', code: 'BAD_REQUEST', message })
  t.equal((await host.pending()).tickets.length, 2, 'and none of them made a ticket')
})

t.test('without a stream a host is told both ways to name one', async t => {
  const { host } = await open(t, {})
  await t.rejects(host.ask({ question: 'q' }), { code: 'BAD_REQUEST', message: /stream field of ask\(\).*stream option/ })
  t.equal((await host.ask({ question: 'q', stream: 'named' })).stream, 'named')
})

t.test('a wait ends with the answer, at once where there is one', async t => {
  const { host, desk } = await open(t)
  const { id } = await host.ask({ question: 'q' })
  const waiting = host.wait(id)
  await host.answer(id, 'yes', { by: 'Lea' })
  t.match(await waiting, { status: 'answered', answer: 'yes', answered_by: 'human' })
  t.match(await host.wait(id, { timeoutMs: 0 }), { status: 'answered' })
  t.equal((await desk.since(1, 1))[0]?.actor, 'Lea')
  t.match(await host.undo(id), { status: 'pending' })
  t.match(await host.cancel(id), { status: 'cancelled' })
  t.match(await host.get(id), { status: 'cancelled' })
})

t.test('a wait ends with its time, pending, and rejects with the reason of its signal', async t => {
  const { host, desk } = await open(t)
  const { id } = await host.ask({ question: 'q' })
  t.match(await host.wait(id, { timeoutMs: 1 }), { status: 'pending' })
  const controller = new AbortController()
  const waiting = host.wait(id, { signal: controller.signal })
  const reason = new Error('the visitor has gone')
  controller.abort(reason)
  await t.rejects(waiting, reason)
  await t.rejects(host.wait(id, { signal: controller.signal }), reason)
  await t.rejects(host.wait(id, { signal: AbortSignal.timeout(1) }), { name: 'TimeoutError' })
  t.equal(desk.waiting, 0, 'nobody is left waiting')
  for (const timeoutMs of [-1, NaN, 'soon' as unknown as number]) {
    await t.rejects(host.wait(id, { timeoutMs }), { code: 'BAD_REQUEST', message: /^timeoutMs must be a number of milliseconds/ })
  }
})

t.test('a wait without a time ends when the desk closes, with the ticket as it stands', async t => {
  const { host, desk } = await open(t)
  const { id } = await host.ask({ question: 'q' })
  const waiting = host.wait(id)
  desk.close()
  t.match(await waiting, { id, status: 'pending' })
})

t.test('an id or an answer that can be none is refused with a sentence', async t => {
  const { host } = await open(t)
  const { id } = await host.ask({ question: 'q' })
  for (const call of [() => host.wait(''), () => host.get(7 as unknown as string), () => host.cancel(undefined as unknown as string)]) {
    await t.rejects(call(), { code: 'BAD_REQUEST', message: /id/ })
  }
  await t.rejects(host.wait('nothing'), { code: 'TICKET_NOT_FOUND' })
  await t.rejects(host.answer(id, ''), { code: 'BAD_REQUEST', message: /^answer must have at least 1 character/ })
  await t.rejects(host.answer(id, 'x'.repeat(16_385)), { code: 'BAD_REQUEST', message: /16,384/ })
  await t.rejects(host.answer(id, 'yes', { by: 'x'.repeat(81) }), { code: 'BAD_REQUEST', message: /^answered_by may have at most 80/ })
  await host.answer(id, 'yes')
  const again = await host.answer(id, 'no').catch((err: unknown) => err) as ReadyroomError
  t.match(again, { code: 'TICKET_SETTLED', ticket: { id, answer: 'yes' } })
})

t.test('listeners hear of every commit by its name, and of each as a change', async t => {
  const { host, clock } = await open(t)
  const heard: string[] = []
  for (const name of ['enqueued', 'answered', 'undone', 'cancelled', 'expired'] as const) {
    host.on(name, (ticket, entry) => { heard.push(`${name} ${ticket.status} ${entry.event}`) })
  }
  let changes = 0
  host.on('change', () => { changes++ })
  const { id } = await host.ask({ question: 'q' })
  await host.answer(id, 'yes')
  await host.undo(id)
  await host.cancel(id)
  const { id: short } = await host.ask({ question: 'q', timeout_seconds: 1, default_answer: 'no' })
  clock.by(2_000)
  t.match(await host.get(short), { status: 'expired', answered_by: 'default' })
  t.strictSame(heard, [
    'enqueued pending enqueued', 'answered answered answered', 'undone pending undone', 'cancelled cancelled cancelled',
    'enqueued pending enqueued', 'expired expired expired'
  ])
  t.equal(changes, 6)
})

t.test('the iterators and promises of node:events work on it', async t => {
  const { host } = await open(t)
  const controller = new AbortController()
  const first = once(host, 'answered', { signal: AbortSignal.timeout(10_000) })
  const seen = (async () => {
    const ids: string[] = []
    for await (const [ticket] of on(host, 'enqueued', { signal: controller.signal })) {
      ids.push(ticket.id)
      if (ids.length === 2) break
    }
    return ids
  })()
  const made = [await host.ask({ question: 'one' }), await host.ask({ question: 'two' })]
  await host.answer(made[0]!.id, 'yes')
  t.strictSame(await seen, made.map(({ id }) => id))
  t.match(await first, [{ id: made[0]!.id, answer: 'yes' }])
})

t.test('a listener that fails is logged; the call and the other listeners do not notice', async t => {
  const { host, logged } = await open(t)
  const heard: string[] = []
  host.on('enqueued', () => { throw new Error('thrown') })
  host.on('enqueued', async () => { throw new Error('rejected') })
  host.on('enqueued', ticket => {
    ticket.question = 'changed by a listener'
    heard.push(ticket.id)
  })
  host.once('change', (ticket, entry) => { heard.push(`${ticket.question} ${entry.ticket.question}`) })
  const { id, question } = await host.ask({ question: 'q' })
  await host.ask({ question: 'q' })
  t.strictSame(heard.slice(0, 2), [id, 'q q'], 'and what one does to its copy no other sees')
  t.equal(heard.length, 3, 'once is once')
  t.equal(question, 'q')
  t.equal((await host.get(id)).question, 'q')
  t.strictSame(logged.map(({ fields }) => (fields['err'] as Error).message).sort(), ['rejected', 'rejected', 'thrown', 'thrown'])
  t.match(logged[0], { fields: { event: 'enqueued', id }, message: /listener/ })
})
