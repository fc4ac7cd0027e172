import type { CallToolResult, Client, RequestOptions } from '@modelcontextprotocol/client'
import type { Test } from 'tap'

export type Era = 'legacy' | 'modern'
export const ERAS: readonly Era[] = ['legacy', 'modern']

export interface McpTarget {
  /** A connected client in one era; without a stream, it has that of the target, where a target has one. */
  connect (era: Era, stream?: string): Promise<Client>
  /** What the person does. */
  answer (id: string, text: string): Promise<void>
  /** How many wait now, where that can be seen. */
  untilWaiting?: (count: number) => Promise<void>
  /** Whether a client of this era can call off one call, rather than go. Nothing ties two HTTP requests of the old era together. */
  cancels (era: Era): boolean
  /** True when a wait reports progress within a tenth of a second. */
  hasFastProgress?: boolean
}

/** A target with an empty queue. What it opens, it closes by itself when the test ends. */
export type MakeMcp = (t: Test) => Promise<McpTarget>

interface Ticket { id: string, status: string, stream: string, context?: string, [field: string]: unknown }

type Structured = Ticket & { tickets: Ticket[] }

/** A tool's result. What a model may be shown in either place must be the same. */
export async function use (t: Test, client: Client, name: string, args: object = {}, options?: RequestOptions): Promise<Structured> {
  const result = await client.callTool({ name, arguments: { ...args } }, options) as CallToolResult
  t.not(result.isError, true, `${name} succeeds`)
  t.strictSame(JSON.parse((result.content[0] as { text: string }).text), result.structuredContent, 'the text says what the structure says')
  return result.structuredContent as unknown as Structured
}

/** The sentence with which a tool refuses. */
export async function refused (t: Test, client: Client, name: string, args: object): Promise<string> {
  const result = await client.callTool({ name, arguments: { ...args } }) as CallToolResult
  t.equal(result.isError, true, `${name} is refused by its result`)
  t.equal(result.structuredContent, undefined)
  return (result.content[0] as { text: string }).text
}

const REFUSALS: ReadonlyArray<[tool: string, args: object, sentence: RegExp]> = [
  ['ask_human', {}, /^question is missing/],
  ['ask_human', { question: 5 }, /^question must be a text; got the number 5/],
  ['ask_human', { question: ' ' }, /^question must say/],
  ['ask_human', { question: 'x'.repeat(2_001) }, /^question may have at most 2,000 characters; got 2,001/],
  ['ask_human', { question: '?', options: ['one'] }, /^options must have at least 2 entries/],
  ['ask_human', { question: '?', options: ['Yes', ' yes '] }, /^options must differ/],
  ['ask_human', { question: '?', options: 'yes' }, /^options must be a list/],
  ['ask_human', { question: '?', context: 'x'.repeat(65_537) }, /^context may have at most 65,536 characters; got 65,537/],
  ['ask_human', { question: '?', timeout_seconds: 0 }, /^timeout_seconds must be at least 1; got 0/],
  ['ask_human', { question: '?', timeout_seconds: 86_401 }, /^timeout_seconds may be at most 86,400/],
  ['ask_human', { question: '?', urgency: 'high' }, /^urgency must be one of "low", "normal", "blocking"; got the text "high"/],
  ['ask_human', { question: '?', stream: '' }, /^stream must have at least 1 character/],
  ['ask_human', { question: '?', nonsense: 1 }, /unknown field "nonsense"/],
  ['wait_for_answer', {}, /^id is missing/],
  ['wait_for_answer', { id: 'nobody' }, /no ticket "nobody"/],
  ['wait_for_answer', { id: 'x', timeout_seconds: -1 }, /^timeout_seconds must be at least 0; got -1/],
  ['list_pending', { stream: 'x' }, /unknown field "stream"/],
  ['cancel_ticket', { id: 'nobody' }, /no ticket "nobody"/]
]

/** Every object in a JSON value, with the path to it. */
function * objects (value: unknown, path = ''): Generator<[string, Record<string, unknown>]> {
  if (typeof value !== 'object' || value === null) return
  yield [path, value as Record<string, unknown>]
  for (const [key, inner] of Object.entries(value)) yield * objects(inner, `${path}/${key}`)
}

/** What an agent meets, whichever transport and era it comes by. */
export function mcpContract (t: Test, make: MakeMcp): void {
  for (const era of ERAS) t.test(`${era} era`, async t => eraContract(t, make, era))

  t.test('what an agent of one era asks, one of the other waits for', async t => {
    const target = await make(t)
    const [old, modern] = [await target.connect('legacy'), await target.connect('modern')]
    const { id } = await use(t, old, 'ask_human', { question: 'Which?', stream: 'a' })
    const wait = use(t, modern, 'wait_for_answer', { id })
    await target.answer(id, 'this')
    t.match(await wait, { status: 'answered', answer: 'HUMAN ANSWER: this' })
  })
}

function eraContract (t: Test, make: MakeMcp, era: Era): void {
  const open = async (t: Test): Promise<{ target: McpTarget, client: Client }> => {
    const target = await make(t)
    return { target, client: await target.connect(era, 'contract') }
  }

  t.test('it says who it is and how it is to be used', async t => {
    const { client } = await open(t)
    t.match(client.getServerVersion(), { name: 'readyroom', title: 'Ready Room', version: /^\d+\.\d+\.\d+/ })
    t.equal(client.getProtocolEra(), era)
    t.match(client.getInstructions(), /ask_human.+returns a ticket id at once.+wait_for_answer.+Never poll in a tight loop/s)
    t.strictSame(client.getServerCapabilities(), { tools: {} })
  })

  t.test('it lists four tools, in a stable order, with schemas that every client reads', async t => {
    const { client } = await open(t)
    const { tools } = await client.listTools()
    t.strictSame(tools.map(({ name }) => name), ['ask_human', 'wait_for_answer', 'list_pending', 'cancel_ticket'])
    for (const tool of tools) {
      t.strictSame(Object.keys(tool).sort(), ['annotations', 'description', 'inputSchema', 'name', 'outputSchema', 'title'])
      t.match(tool, { title: /\S/, description: /\S/, inputSchema: { type: 'object' }, outputSchema: { type: 'object' } })
      t.equal(tool.annotations?.openWorldHint, false)
      for (const [path, schema] of objects(tool)) {
        t.notOk(Object.keys(schema).some(key => /^[~$]|^(any|one|all)Of$/.test(key)), `${tool.name}${path} is flat, and nothing of its maker is in it`)
        if ('enum' in schema && !path.endsWith('properties')) t.equal(schema['type'], 'string', `${path} is an enum of strings`)
      }
    }
    t.strictSame(tools.map(({ annotations }) => annotations?.readOnlyHint), [false, true, true, false])
    t.match(tools[3]?.annotations, { destructiveHint: true, idempotentHint: true })
    t.strictSame((await client.listTools(undefined, { cacheMode: 'bypass' })).tools, tools)
  })

  t.test('ask_human returns at once with a pending ticket of the stream of its connection', async t => {
    const { client } = await open(t)
    const asked = await use(t, client, 'ask_human', {
      question: 'Deploy?', options: '["yes","no"]', context: 'a\nb', default_answer: 'no', timeout_seconds: 60, urgency: 'blocking'
    })
    t.strictSame(Object.keys(asked), ['id', 'status', 'expires_at'])
    t.equal(asked.status, 'pending')
    const { tickets } = await use(t, client, 'list_pending')
    t.match(tickets, [{ id: asked.id, stream: 'contract', question: 'Deploy?', options: ['yes', 'no'], context: 'a\nb', urgency: 'blocking', rev: 1 }])
  })

  t.test('an explicit stream goes before that of the connection, and list_pending shows every stream', async t => {
    const { target, client } = await open(t)
    await use(t, client, 'ask_human', { question: 'One?', stream: 'Zürich/βeta' })
    const other = await target.connect(era, 'other')
    const { tickets } = await use(t, other, 'list_pending')
    t.match(tickets, [{ stream: 'Zürich/βeta' }])
  })

  t.test('wait_for_answer has a person\'s answer, marked as one, as soon as it is given', async t => {
    const { target, client } = await open(t)
    const { id } = await use(t, client, 'ask_human', { question: 'Deploy?' })
    const wait = use(t, client, 'wait_for_answer', { id, timeout_seconds: 60 })
    await target.untilWaiting?.(1)
    await target.answer(id, 'yes, now')
    const answered = { id, status: 'answered', answer: 'HUMAN ANSWER: yes, now', answered_by: 'human', answered_at: /^\d{4}-.+Z$/ }
    t.match(await wait, answered)
    t.match(await use(t, client, 'wait_for_answer', { id }), answered, 'and at once when asked again')
    t.strictSame((await use(t, client, 'list_pending')).tickets, [])
    await target.untilWaiting?.(0)
  })

  t.test('wait_for_answer says pending when its time is over', async t => {
    const { client } = await open(t)
    const { id } = await use(t, client, 'ask_human', { question: 'Deploy?' })
    t.strictSame(await use(t, client, 'wait_for_answer', { id, timeout_seconds: 0.05 }), { id, status: 'pending' })
    t.strictSame(await use(t, client, 'wait_for_answer', { id, timeout_seconds: 0 }), { id, status: 'pending' })
  })

  t.test('a default is applied on expiry, and says that it is one', async t => {
    const { client } = await open(t)
    const { id } = await use(t, client, 'ask_human', { question: 'Deploy?', default_answer: 'no', timeout_seconds: 1 })
    t.match(await use(t, client, 'wait_for_answer', { id }), {
      status: 'expired', answered_by: 'default', answer: 'DEFAULT ANSWER (applied on expiry; no human responded): no'
    })
  })

  t.test('cancel_ticket cancels, twice as well, and a wait learns of it', async t => {
    const { target, client } = await open(t)
    const { id } = await use(t, client, 'ask_human', { question: 'Deploy?' })
    const wait = use(t, client, 'wait_for_answer', { id })
    await target.untilWaiting?.(1)
    t.strictSame(await use(t, client, 'cancel_ticket', { id }), { id, status: 'cancelled' })
    t.strictSame(await use(t, client, 'cancel_ticket', { id }), { id, status: 'cancelled' })
    t.strictSame(await wait, { id, status: 'cancelled' })
  })

  t.test('cancelling what was answered is refused, and says how it was settled', async t => {
    const { target, client } = await open(t)
    const { id } = await use(t, client, 'ask_human', { question: 'Deploy?' })
    await target.answer(id, 'yes')
    t.match(await refused(t, client, 'cancel_ticket', { id }), /answered/)
  })

  t.test('bad arguments are refused with a sentence to act on, and leave nothing behind', async t => {
    const { client } = await open(t)
    for (const [tool, args, sentence] of REFUSALS) t.match(await refused(t, client, tool, args), sentence, `${tool}: ${sentence.source}`)
    t.strictSame((await use(t, client, 'list_pending')).tickets, [])
  })

  t.test('an unknown tool and an unknown method are errors of the protocol', async t => {
    const { client } = await open(t)
    await t.rejects(client.callTool({ name: 'ask_robot', arguments: {} }), { code: -32602, message: /Unknown tool: ask_robot/ })
    // Over HTTP the modern era says so with the status 404 as well, and the client then with an error of its own kind.
    await t.rejects(client.request({ method: 'resources/list' }), { message: /Method not found/ })
  })

  t.test('a long context is whole in the store and cut in list_pending', async t => {
    const { client } = await open(t)
    await use(t, client, 'ask_human', { question: 'Deploy?', context: '😀'.repeat(65_536) })
    const { tickets: [ticket] } = await use(t, client, 'list_pending')
    t.equal(ticket?.['context_truncated'], true)
    t.ok([...ticket?.context ?? ''].length <= 1_001)
  })

  t.test('many calls at once on one connection each get their own answer', async t => {
    const { client } = await open(t)
    const asked = await Promise.all(Array.from({ length: 30 }, (_, n) => use(t, client, 'ask_human', { question: `Number ${n}?` })))
    t.equal(new Set(asked.map(({ id }) => id)).size, 30)
    const { tickets } = await use(t, client, 'list_pending')
    t.strictSame(tickets.map(({ id }) => id), asked.map(({ id }) => id).sort(), 'oldest first')
  })

  t.test('an abandoned wait leaves nothing', async t => {
    const { target, client } = await open(t)
    if (target.untilWaiting === undefined) return t.pass('what waits cannot be seen on this target')
    const { id } = await use(t, client, 'ask_human', { question: 'Deploy?' })
    const stop = new AbortController()
    const wait = client.callTool({ name: 'wait_for_answer', arguments: { id } }, { signal: stop.signal })
    wait.catch(() => {})
    await target.untilWaiting(1)
    if (target.cancels(era)) stop.abort('not needed any more')
    else await client.close()
    await t.rejects(wait)
    await target.untilWaiting(0)
    await target.answer(id, 'too late')
    const after = target.cancels(era) ? client : await target.connect(era)
    t.match(await use(t, after, 'wait_for_answer', { id }), { answer: 'HUMAN ANSWER: too late' })
  })

  t.test('a wait reports progress, ever more of it, to a client that asks for it', async t => {
    const { target, client } = await open(t)
    if (!target.hasFastProgress) return t.pass('a test does not wait ten seconds')
    const { id } = await use(t, client, 'ask_human', { question: 'Deploy?' })
    const { promise, resolve } = Promise.withResolvers<void>()
    const seen: number[] = []
    const wait = use(t, client, 'wait_for_answer', { id }, {
      onprogress: ({ progress, message }) => {
        t.match(message, /waiting for a person/i)
        if (seen.push(progress) === 3) resolve()
      }
    })
    await promise
    await target.answer(id, 'yes')
    t.match(await wait, { answer: 'HUMAN ANSWER: yes' })
    t.strictSame(seen, [...new Set(seen)].sort((a, b) => a - b), 'each is more than the one before')
  })
}
