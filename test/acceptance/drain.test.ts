import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client'
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { card, launchBrowser, live, openPage, recent } from '../helpers/browser'
import { createWorld, eventually, type ToolResult, type World } from '../helpers/process'

/** An agent, whichever SDK and transport it came with. */
interface Agent { call (name: string, args: object): Promise<ToolResult> }

const ME = { name: 'acceptance', version: '1' }

/** A project folder of its own, in which its client starts Ready Room. */
function project (world: World, name: string): string {
  const folder = join(world.home, name)
  mkdirSync(folder, { recursive: true })
  return folder
}

async function stdioV2 (t: Test, world: World, name: string): Promise<Agent> {
  const client = new Client(ME, { versionNegotiation: { mode: 'auto' } })
  t.teardown(() => client.close())
  await client.connect(new StdioV2({ ...world.command(), cwd: project(world, name), stderr: 'ignore' }))
  return { call: async (tool, args) => (await client.callTool({ name: tool, arguments: { ...args } })).structuredContent as ToolResult }
}

async function stdioV1 (t: Test, world: World, name: string): Promise<Agent> {
  const client = new ClientV1(ME)
  t.teardown(() => client.close())
  await client.connect(new StdioV1({ ...world.command(), cwd: project(world, name), stderr: 'ignore' }))
  return { call: async (tool, args) => (await client.callTool({ name: tool, arguments: { ...args } })).structuredContent as ToolResult }
}

async function http (t: Test, world: World, name: string): Promise<Agent> {
  const client = new Client(ME)
  t.teardown(() => client.close())
  const url = new URL(`/mcp/${name}`, world.url)
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: { Origin: world.url } } }) as Transport)
  return { call: async (tool, args) => (await client.callTool({ name: tool, arguments: { ...args } })).structuredContent as ToolResult }
}

t.test('two agents over stdio and one over HTTP ask, a person answers and undoes in a browser, and each hears its own answer', async t => {
  const world = await createWorld(t)
  // The page may still count as open when the agents have left: the queue then goes on for the person.
  t.teardown(async () => {
    await world.run(['stop'])
    await eventually(() => world.alive().length === 0 || undefined, 'the last process to end')
  })
  const browser = await launchBrowser(t)
  const alpha = await stdioV2(t, world, 'alpha')
  const first = await alpha.call('ask_human', { question: 'Drop the old table?', options: ['Drop it', 'Keep it'] })
  const beta = await stdioV1(t, world, 'beta')
  const gamma = await http(t, world, 'gamma')
  const second = await beta.call('ask_human', { question: 'What shall it be called?', urgency: 'blocking' })
  const third = await gamma.call('ask_human', { question: 'Which region?', options: ['Paris', 'Oslo'] })
  const waits = [alpha.call('wait_for_answer', { id: first.id }), beta.call('wait_for_answer', { id: second.id })]

  const context = await browser.newContext()
  t.teardown(() => context.close())
  const page = await openPage(t, context, `${world.url}/`)
  await live(page)
  for (const { id } of [first, second, third]) await card(page, id).waitFor()
  t.equal(await page.title(), '(3) heads-up')
  t.strictSame((await page.locator('.stream h2 bdi').allTextContents()).sort(), ['alpha', 'beta', 'gamma'],
    'each came under its own stream: the folder of its client, or the address')

  await card(page, first.id).getByText('Keep it').click()
  await card(page, first.id).getByRole('button', { name: 'Answer' }).click()
  await recent(page, first.id).waitFor()
  await card(page, second.id).getByRole('textbox', { name: 'Your answer' }).fill('Ready Room')
  await card(page, second.id).getByRole('button', { name: 'Answer' }).click()
  await recent(page, second.id).waitFor()
  const [one, two] = await Promise.all(waits)
  t.match(one, { id: first.id, status: 'answered', answer: 'HUMAN ANSWER: Keep it', answered_by: 'human' })
  t.match(two, { id: second.id, status: 'answered', answer: 'HUMAN ANSWER: Ready Room', answered_by: 'human' })

  await recent(page, second.id).getByRole('button', { name: 'Undo' }).click()
  await recent(page, second.id).waitFor({ state: 'detached' })
  t.match(await beta.call('wait_for_answer', { id: second.id, timeout_seconds: 0 }), { id: second.id, status: 'pending' }, 'an undone answer is no answer')
  t.match(await gamma.call('wait_for_answer', { id: third.id, timeout_seconds: 0 }), { id: third.id, status: 'pending' }, 'another ticket is as it was')

  await card(page, third.id).getByText('Oslo').click()
  await card(page, third.id).getByRole('button', { name: 'Answer' }).click()
  t.match(await gamma.call('wait_for_answer', { id: third.id }), { answer: 'HUMAN ANSWER: Oslo' })
  await card(page, second.id).getByRole('textbox', { name: 'Your answer' }).fill('Ready Room, after all')
  await card(page, second.id).getByRole('button', { name: 'Answer' }).click()
  t.match(await beta.call('wait_for_answer', { id: second.id }), { answer: 'HUMAN ANSWER: Ready Room, after all' })
  await eventually(async () => await page.title() === 'heads-up' || undefined, 'an empty queue in the title')
})
