import { mock } from 'node:test'
import t from 'tap'
import type { AgentDesk } from '../../lib/desk'
import { Desk } from '../../lib/desk'
import { ERRORS, ReadyroomError, type ErrorCode } from '../../lib/errors'
import { MemoryTicketStore } from '../../lib/memory-store'
import { OWNER } from '../../lib/principal'
import { callTool, TOOLS, toToolResult, waitMs, type Tool, type ToolContext, type ToolResult } from '../../lib/tools'
import { parse } from '../../lib/validate'
import { Clock } from '../helpers/build'
import { at, decide } from '../helpers/decisions'

const named = (name: Tool['name']): Tool => TOOLS.find(tool => tool.name === name)!
const [ask, wait, list, cancel] = [named('ask_human'), named('wait_for_answer'), named('list_pending'), named('cancel_ticket')]

async function open (): Promise<{ desk: Desk, clock: Clock, context: ToolContext }> {
  const clock = new Clock()
  const desk = await new Desk(new MemoryTicketStore({ now: clock.now }), { now: clock.now }).open()
  return { desk, clock, context: { desk, stream: 'agent' } }
}

const idOf = ({ structuredContent }: ToolResult): string => structuredContent!['id'] as string
const refusalOf = ({ isError, content, structuredContent }: ToolResult): string | undefined =>
  isError === true && structuredContent === undefined && content.length === 1 ? content[0]!.text : undefined

t.test('the four tools are described for every reader of schemas', async t => {
  t.strictSame(TOOLS.map(({ name }) => name), ['ask_human', 'wait_for_answer', 'list_pending', 'cancel_ticket'])
  for (const { name, title, description, inputSchema, outputSchema, annotations } of TOOLS) {
    t.ok(title.length > 0 && description.length > 0, name)
    for (const schema of [inputSchema, outputSchema] as object[]) {
      t.match(schema, { type: 'object', additionalProperties: false }, name)
      // Some clients drop every tool of a server for one of these at the root, or for an enum that is not of strings.
      for (const keyword of ['anyOf', 'oneOf', 'allOf', '$ref']) t.notOk(keyword in schema, `${name} ${keyword}`)
      for (const [, values] of JSON.stringify(schema).matchAll(/"enum":(\[[^\]]*\])/g)) {
        t.ok((JSON.parse(values!) as unknown[]).every(value => typeof value === 'string'), values!)
      }
    }
    for (const [field, schema] of Object.entries((inputSchema as unknown as { properties: Record<string, { description?: string }> }).properties)) {
      t.type(schema.description, 'string', `${name}.${field}`)
    }
    t.equal(annotations.openWorldHint, false)
  }
  t.strictSame(TOOLS.map(({ annotations: { readOnlyHint, destructiveHint, idempotentHint } }) => [readOnlyHint, destructiveHint, idempotentHint]),
    [[false, false, false], [true, false, true], [true, false, true], [false, true, true]])
  t.match(ask.description, /pending.*independent work.*wait_for_answer again later.*tight loop/s)
})

t.test('what a tool returns fits its own schema, and stands in the text too', async t => {
  const { desk, context } = await open()
  const asked = await callTool(ask, { question: 'q', options: ['a', 'b'], context: 'x'.repeat(2_000) }, context)
  const waited = await callTool(wait, { id: idOf(asked), timeout_seconds: 0 }, context)
  const listed = await callTool(list, {}, context)
  await desk.answer(idOf(asked), 'yes', OWNER)
  const answered = await callTool(wait, { id: idOf(asked) }, context)
  const other = await callTool(ask, { question: 'q' }, context)
  const cancelled = await callTool(cancel, { id: idOf(other) }, context)
  for (const [tool, result] of [[ask, asked], [wait, waited], [list, listed], [wait, answered], [cancel, cancelled]] as const) {
    t.doesNotThrow(() => parse(tool.outputSchema, result.structuredContent, tool.name))
    t.equal(result.content.length, 1)
    t.strictSame(JSON.parse(result.content[0]!.text), result.structuredContent)
    t.notOk(result.isError)
  }
})

t.test('asking returns at once: the id, pending, and when it expires', async t => {
  const { desk, context } = await open()
  const result = await callTool(ask, { question: 'q', timeout_seconds: 60 }, context)
  t.strictSame(result.structuredContent, { id: idOf(result), status: 'pending', expires_at: at(60_000) })
  t.match(await desk.get(idOf(result)), { stream: 'agent', question: 'q' })
})

t.test('the stream is the argument, else that of the connection, else the call says how to give one', async t => {
  const { desk, context } = await open()
  t.equal((await desk.get(idOf(await callTool(ask, { question: 'q', stream: 'other' }, context)))).stream, 'other')
  t.equal((await desk.get(idOf(await callTool(ask, { question: 'q' }, context)))).stream, 'agent')
  const refusal = refusalOf(await callTool(ask, { question: 'q' }, { desk }))
  t.match(refusal, /stream argument/)
  t.match(refusal, /POST \/mcp\/\{stream\}/)
  t.equal((await desk.get(idOf(await callTool(ask, { question: 'q', stream: 'own' }, { desk })))).stream, 'own')
  t.equal(desk.pendingCount, 3)
})

t.test('bad arguments are a result that an agent can act on, and leave nothing half', async t => {
  const { desk, context } = await open()
  const table: Array<[Tool, unknown, RegExp]> = [
    [ask, undefined, /question is missing from ask_human/],
    [ask, [], /ask_human must be an object/],
    [ask, { question: 'q', options: 'yes' }, /options must be a list; got the text "yes"/],
    [ask, { question: 'q', options: ['a', 'A'] }, /options must differ/],
    [ask, { question: 'q', timeout_seconds: 0 }, /timeout_seconds must be at least 1; got 0/],
    [ask, { question: 'q', wait: true }, /unknown field "wait"/],
    [wait, {}, /id is missing from wait_for_answer/],
    [wait, { id: 5 }, /id must be a text; got the number 5/],
    [wait, { id: '' }, /id must have at least 1 character/],
    [wait, { id: 'x', timeout_seconds: -1 }, /timeout_seconds must be at least 0; got -1/],
    [wait, { id: 'x', timeout_seconds: '5' }, /timeout_seconds must be a number/],
    [wait, { id: 'none', timeout_seconds: 600 }, /no ticket "none"/],
    [list, { stream: 'a' }, /list_pending has an unknown field "stream"; none are known/],
    [cancel, {}, /id is missing from cancel_ticket/],
    [cancel, { id: 'none' }, /no ticket "none"/]
  ]
  for (const [tool, args, says] of table) t.match(refusalOf(await callTool(tool, args, context)), says)
  t.equal(desk.head().seq, 0)
})

t.test('options as JSON text are the list, as an empty text none', async t => {
  const { desk, context } = await open()
  t.strictSame((await desk.get(idOf(await callTool(ask, { question: 'q', options: '["yes","no"]' }, context)))).options, ['yes', 'no'])
  t.notOk('options' in await desk.get(idOf(await callTool(ask, { question: 'q', options: '' }, context))))
})

t.test('an answer says whose it is; the desk holds it bare', async t => {
  const { desk, clock, context } = await open()
  const human = idOf(await callTool(ask, { question: 'q' }, context))
  await desk.answer(human, 'yes', OWNER, 'Lea')
  t.strictSame((await callTool(wait, { id: human }, context)).structuredContent,
    { id: human, status: 'answered', answer: 'HUMAN ANSWER: yes', answered_by: 'human', answered_at: at() })
  t.equal((await desk.get(human)).answer, 'yes')

  const byDefault = idOf(await callTool(ask, { question: 'q', default_answer: 'no', timeout_seconds: 1 }, context))
  const bare = idOf(await callTool(ask, { question: 'q', timeout_seconds: 1 }, context))
  clock.by(1_000)
  t.strictSame((await callTool(wait, { id: byDefault }, context)).structuredContent, {
    id: byDefault, status: 'expired', answer: 'DEFAULT ANSWER (applied on expiry; no human responded): no', answered_by: 'default', answered_at: at(1_000)
  })
  t.strictSame((await callTool(wait, { id: bare }, context)).structuredContent, { id: bare, status: 'expired' })
})

t.test('cancelling twice is fine; what is answered or expired says how it was settled', async t => {
  const { desk, clock, context } = await open()
  const [a, b, c] = [await callTool(ask, { question: 'q' }, context), await callTool(ask, { question: 'q' }, context), await callTool(ask, { question: 'q', timeout_seconds: 1 }, context)]
  for (let i = 0; i < 2; i++) t.strictSame((await callTool(cancel, { id: idOf(a) }, context)).structuredContent, { id: idOf(a), status: 'cancelled' })
  t.strictSame((await callTool(wait, { id: idOf(a) }, context)).structuredContent, { id: idOf(a), status: 'cancelled' })
  await desk.answer(idOf(b), 'yes', OWNER)
  t.match(refusalOf(await callTool(cancel, { id: idOf(b) }, context)), /already answered: "yes"/)
  clock.by(1_000)
  t.match(refusalOf(await callTool(cancel, { id: idOf(c) }, context)), /expired at .* without an answer/)
})

t.test('a wait ends a little before the client gives up, and never lasts over ten minutes', async t => {
  const table: Array<[number, number]> = [
    [0, 0], [0.5, 500], [1, 1_000], [29, 29_000], [29.999, 29_999], [30, 25_000], [60, 55_000], [600, 595_000], [601, 595_000], [86_400, 595_000]
  ]
  for (const [seconds, ms] of table) t.equal(waitMs(seconds), ms, `${seconds} s`)
})

/** A desk whose wait goes on until it is told otherwise, and which says how long it was asked to wait. */
function waitingDesk (): { desk: AgentDesk, asked: Array<{ ms: number, signal: AbortSignal | undefined }>, end (): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const asked: Array<{ ms: number, signal: AbortSignal | undefined }> = []
  const unused = (): never => { throw new Error('Not asked for') }
  return {
    asked,
    end: resolve,
    desk: {
      ask: unused,
      pending: unused,
      cancel: unused,
      async wait (id, { ms, signal }) {
        asked.push({ ms, signal })
        await promise
        return decide(id).ticket
      }
    }
  }
}

t.test('a wait is asked for the default, for what was said, and for no longer than its target holds', async t => {
  const { desk, asked, end } = waitingDesk()
  end()
  await callTool(wait, { id: 'a' }, { desk })
  await callTool(wait, { id: 'a', timeout_seconds: 5 }, { desk })
  await callTool(wait, { id: 'a', timeout_seconds: 10_000 }, { desk })
  await callTool(wait, { id: 'a', timeout_seconds: 600 }, { desk, maxWaitMs: 5_000 })
  t.strictSame(asked.map(({ ms }) => ms), [55_000, 5_000, 595_000, 5_000])
})

t.test('a wait tells every ten seconds that it goes on, where the call asked for it, and then no more', async t => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const { desk, end } = waitingDesk()
  const told: string[] = []
  const { signal } = new AbortController()
  const progress = (seconds: number, message: string): void => { told.push(`${typeof seconds} ${message}`) }
  const result = callTool(wait, { id: 'a', timeout_seconds: 600 }, { desk, signal, progress })
  mock.timers.tick(9_999)
  t.equal(told.length, 0)
  mock.timers.tick(1)
  t.equal(told.length, 1)
  mock.timers.tick(50_000)
  t.equal(told.length, 6)
  t.match(told[0], /^number Still waiting/)
  end()
  t.match((await result).structuredContent, { status: 'pending' })
  mock.timers.tick(60_000)
  t.equal(told.length, 6)
})

t.test('the signal of a call reaches the wait', async t => {
  const { desk, context } = await open()
  const id = idOf(await callTool(ask, { question: 'q' }, context))
  const controller = new AbortController()
  const waiting = callTool(wait, { id, timeout_seconds: 600 }, { ...context, signal: controller.signal, progress: () => {} })
  t.equal(desk.waiting, 1)
  controller.abort()
  t.match((await waiting).structuredContent, { status: 'pending' })
  t.equal(desk.waiting, 0)
})

t.test('a failure is a result where the table says so, and thrown where it does not', async t => {
  for (const [code, { mcp }] of Object.entries(ERRORS) as Array<[ErrorCode, { mcp: unknown }]>) {
    const err = new ReadyroomError(code, 'What, and what to do.')
    if (mcp === 'tool') t.strictSame(toToolResult(err), { content: [{ type: 'text', text: 'What, and what to do.' }], isError: true }, code)
    else t.throws(() => toToolResult(err), err, code)
  }
  const unnamed = new TypeError('secret detail')
  t.throws(() => toToolResult(unnamed), unnamed)
})

t.test('a full queue and a store that is down are told to the agent', async t => {
  const { desk, context } = await open()
  for (let i = 0; i < 500; i++) await callTool(ask, { question: 'q' }, context)
  t.match(refusalOf(await callTool(ask, { question: 'q' }, context)), /The stream "agent" is full: 500/)
  desk.cancel = () => Promise.reject(new ReadyroomError('STORE_UNAVAILABLE', 'The disk is full: free some space.'))
  t.equal(refusalOf(await callTool(cancel, { id: 'a' }, context)), 'The disk is full: free some space.')
})
