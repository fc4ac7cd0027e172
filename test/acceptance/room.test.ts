import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import t, { type Test } from 'tap'
import type { AuditEntry } from '../../schemas/event'
import type { RoomEvent } from '../../schemas/room'
import { card, launchBrowser, live, openPage, recent } from '../helpers/browser'
import { createWorld, type World } from '../helpers/process'

t.setTimeout(180_000)

interface Said { result: Record<string, unknown>, failure: string | undefined }

/** An agent with a token, whichever way it came. */
class Agent {
  readonly name: string
  readonly #client: Client

  constructor (name: string, client: Client) {
    this.name = name
    this.#client = client
  }

  async try (tool: string, args: Record<string, unknown> = {}): Promise<Said> {
    const { structuredContent, isError, content } = await this.#client.callTool({ name: tool, arguments: args })
    return { result: structuredContent as Record<string, unknown>, failure: isError === true ? JSON.stringify(content) : undefined }
  }

  async call (tool: string, args: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
    const { result, failure } = await this.try(tool, args)
    if (failure !== undefined) throw new Error(`${tool} of ${this.name}: ${failure}`)
    return result
  }

  /** Reads what is new, again and again as an agent would, until it has been told of this kind. Returns all that it was told. */
  async until (kind: RoomEvent['kind']): Promise<RoomEvent[]> {
    const told: RoomEvent[] = []
    const end = performance.now() + 20_000
    for (;;) {
      told.push(...(await this.call('whats_new'))['events'] as RoomEvent[])
      if (told.some(event => event.kind === kind)) return told
      if (performance.now() > end) throw new Error(`${this.name} was never told of ${kind}, but of ${told.map(event => event.kind).join(', ')}`)
      await this.call('wait_for_change', { timeout_s: 5 })
    }
  }
}

const ME = { name: 'acceptance', version: '1' }

async function connect (t: Test, name: string, transport: Transport): Promise<Agent> {
  const client = new Client(ME, { versionNegotiation: { mode: 'auto' } })
  t.teardown(() => client.close())
  await client.connect(transport)
  return new Agent(name, client)
}

const overHttp = (t: Test, world: World, name: string, token: string): Promise<Agent> => connect(t, name,
  new StreamableHTTPClientTransport(new URL('/mcp', world.url), { requestInit: { headers: { Origin: world.url, Authorization: `Bearer ${token}` } } }))

const overStdio = (t: Test, world: World, name: string, token: string): Promise<Agent> => connect(t, name,
  new StdioClientTransport({ ...world.command([], { READYROOM_AGENT_TOKEN: token }), cwd: world.home, stderr: 'ignore' }))

t.test('three agents on three tokens talk, race for a task and hand it over; one waits for a person, who answers and undoes in a browser, and is shown what the agent had of it', async t => {
  const world = await createWorld(t)
  await world.start(['serve']).opened()
  await world.run(['admin', 'init'])
  const mint = async (agent: string, ...more: string[]): Promise<string> => {
    const { code, stdout, stderr } = await world.run(['admin', 'add-token', '--agent', agent, '--room', 'main', ...more])
    if (code !== 0) throw new Error(stderr)
    return stdout.trim()
  }
  const [ann, bob, cat] = [
    await overHttp(t, world, 'ann', await mint('ann')), await overHttp(t, world, 'bob', await mint('bob')), await overStdio(t, world, 'cat', await mint('cat'))
  ]
  for (const agent of [ann, bob, cat]) await agent.call('whats_new')

  // Chat, with a mention.
  t.match(await ann.call('post_message', { body: 'Who hosts the poller? @bob, have you time?' }), { mentions: ['bob'] })
  const heard = await bob.until('message_posted')
  t.match(heard.find(({ kind }) => kind === 'message_posted'), { actor: 'ann', actor_kind: 'agent' })
  t.match(await bob.call('read_messages'), { messages: [{ author: 'ann', mentions: ['bob'] }], untrusted: String })

  // A race for a task: one has it, and the other is told who.
  const { id: shared } = await ann.call('create_task', { title: 'Host the poller' }) as { id: number }
  const claims = await Promise.all([bob, cat].map(async agent => ({ agent, ...await agent.try('claim_task', { task_id: shared }) })))
  const [won, lost] = claims[0]!.failure === undefined ? [claims[0]!, claims[1]!] : [claims[1]!, claims[0]!]
  t.match(won.result, { owner: won.agent.name, status: 'in_progress' })
  t.match(lost.failure, won.agent.name, 'one of two wins, and the other is told who')

  // Handed over.
  await won.agent.call('release_task', { task_id: shared, reason: 'You know the machine better.' })
  t.match(await lost.agent.call('claim_task', { task_id: shared }), { owner: lost.agent.name, status: 'in_progress' })
  const handed = (await ann.until('task_released')).filter(({ task_id: id }) => id === shared).map(({ kind, actor }) => [kind, actor])
  t.strictSame(handed.filter(([kind]) => kind === 'task_released'), [['task_released', won.agent.name]], 'the others of the room can follow it')

  // A task that waits for a person, asked over standard input.
  const task = await cat.call('create_task', { title: 'Drop the old table', claim: true, ask: { question: 'May the old table go?', options: ['Drop it', 'Keep it'] } })
  const { id: waiting, ticket_id: ticket } = task as { id: number, ticket_id: string }
  t.match(task, { status: 'blocked', owner: 'cat', ticket_id: String })

  const browser = await launchBrowser(t)
  const context = await browser.newContext({ viewport: { width: 1_000, height: 900 }, locale: 'en-GB' })
  t.teardown(() => context.close())
  context.setDefaultTimeout(20_000)
  const page = await openPage(t, context, `${world.url}/`)
  await page.getByLabel('Token', { exact: true }).fill(await mint('lea', '--approver'))
  await page.getByRole('button', { name: 'Open', exact: true }).click()
  await live(page)
  await card(page, ticket).getByText(`Task ${waiting}, Drop the old table, waits for this.`).waitFor()
  t.equal(await page.locator('.stream h2 bdi').textContent(), 'cat', 'the name of the token is the stream')
  await card(page, ticket).getByText('Drop it').click()
  await card(page, ticket).getByRole('button', { name: 'Answer' }).click()
  const settled = recent(page, ticket)
  await settled.getByText('Saved; the agent has not been told yet').waitFor()

  // The answer gives the task back to its owner, and the agent is told without having asked for the ticket.
  const told = await cat.until('task_unblocked')
  t.match(told.find(({ kind }) => kind === 'ticket_answered'), { ticket_id: ticket })
  t.match(told.find(({ kind }) => kind === 'task_unblocked'), { task_id: waiting })
  t.match(JSON.stringify(told), /Drop it/)
  await settled.getByText(/Delivered \d\d:\d\d/).waitFor()
  t.match(await cat.call('get_task', { task_id: waiting }), { status: 'in_progress', owner: 'cat' })
  await settled.getByText(/Delivered \d\d:\d\d, read \d\d:\d\d/).waitFor()

  // An undo reaches an agent that has read the answer already, and the page says what it undid.
  await settled.getByRole('button', { name: /^Undo/ }).click()
  await card(page, ticket).getByText(/The last answer had been delivered \d\d:\d\d \(read \d\d:\d\d\) before it was taken back\./).waitFor()
  await card(page, ticket).getByText(`Task ${waiting}, Drop the old table, waits for this.`).waitFor()
  t.match((await cat.until('ticket_undone')).find(({ kind }) => kind === 'ticket_undone'), { ticket_id: ticket })
  t.match(await cat.call('get_task', { task_id: waiting }), { status: 'blocked', ticket_id: ticket })
  t.match(await cat.call('wait_for_answer', { id: ticket, timeout_seconds: 0 }), { status: 'pending' })
  await card(page, ticket).getByText(/The agent was told so \d\d:\d\d\./).waitFor()

  await card(page, ticket).getByText('Keep it').click()
  await card(page, ticket).getByRole('button', { name: 'Answer' }).click()
  t.match(await cat.call('wait_for_answer', { id: ticket }), { answer: 'HUMAN ANSWER: Keep it', answered_by: 'human' })
  await settled.getByText(/Delivered \d\d:\d\d/).waitFor()

  const { stdout } = await world.run(['audit', '--json'])
  const entries = stdout.trim().split('\n').map(line => JSON.parse(line) as AuditEntry).filter(({ id }) => id === ticket)
  t.strictSame(entries.map(({ event, actor }) => [event, actor]), [['enqueued', 'cat'], ['answered', 'lea'], ['undone', 'lea'], ['answered', 'lea']],
    'the record names the agent and the person')
})
