import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import t, { type Test } from 'tap'
import { OWNER } from '../../lib/principal'
import { untilWaiting } from '../helpers/mcp-app'
import { CHILD, startRoom } from '../helpers/room'

const INFO = { name: 'readyroom-test', version: '1.0.0' }
const TOKEN = 'a-token-that-is-long-enough-to-use'

/** As much of a client as both versions have. */
interface AnyClient {
  getServerVersion (): { title?: string | undefined } | undefined
  listTools (): Promise<{ tools: Array<{ name: string }> }>
  callTool (call: { name: string, arguments: Record<string, unknown> }): Promise<Record<string, unknown>>
}

/** An agent's whole errand: look round, ask, wait for the answer. */
async function errand (t: Test, client: AnyClient, answer: (id: string) => Promise<unknown>): Promise<void> {
  t.equal(client.getServerVersion()?.title, 'Ready Room')
  t.equal((await client.listTools()).tools.length, 4)
  const asked = await client.callTool({ name: 'ask_human', arguments: { question: 'Answer me?', options: ['here', 'there'] } })
  const { id } = asked['structuredContent'] as { id: string }
  await answer(id)
  const waited = await client.callTool({ name: 'wait_for_answer', arguments: { id } })
  t.match(waited['structuredContent'], { id, status: 'answered', answer: 'HUMAN ANSWER: here' })
  t.match(await client.callTool({ name: 'list_pending', arguments: {} }), { structuredContent: { tickets: [] } })
  t.match(await client.callTool({ name: 'cancel_ticket', arguments: { id } }), { isError: true })
}

t.test('a client of the first SDK does its errand over HTTP, with the Origin that strict wants and without it under spec', async t => {
  for (const originPolicy of ['strict', 'spec'] as const) {
    const { url, origin, desk } = await startRoom(t, { originPolicy })
    const client = new ClientV1(INFO)
    t.teardown(() => client.close())
    await client.connect(new HttpV1(new URL(url), { requestInit: { headers: originPolicy === 'strict' ? { origin } : {} } }) as never)
    await errand(t, client, id => desk.answer(id, 'here', OWNER))
    t.notOk(client.getInstructions() === undefined)
  }
})

t.test('a client of the second SDK does, in the era that it finds by itself and in the old one', async t => {
  for (const [mode, era] of [['auto', 'modern'], ['legacy', 'legacy']] as const) {
    const { url, origin, desk } = await startRoom(t, { token: TOKEN })
    const client = new ClientV2(INFO, { versionNegotiation: { mode } })
    t.teardown(() => client.close())
    await client.connect(new HttpV2(new URL(url), { requestInit: { headers: { origin, authorization: `Bearer ${TOKEN}` } } }))
    t.equal(client.getProtocolEra(), era)
    await errand(t, client, id => desk.answer(id, 'here', OWNER))
  }
})

t.test('strict refuses a client without the Origin, and tells it which header to add', async t => {
  const { url, origin } = await startRoom(t)
  for (const headers of [{}, { origin: 'http://evil.example' }, { origin: 'null' }]) {
    const client = new ClientV1(INFO)
    const connecting = client.connect(new HttpV1(new URL(url), { requestInit: { headers } }) as never)
    await t.rejects(connecting, { message: new RegExp(`Origin: ${origin}`) }, JSON.stringify(headers))
  }
})

t.test('a client of the first SDK that closes in mid-wait frees its waiter', async t => {
  const { url, origin, desk } = await startRoom(t)
  const { id } = await desk.ask({ question: 'Deploy?', stream: 'x' })
  const client = new ClientV1(INFO)
  await client.connect(new HttpV1(new URL(url), { requestInit: { headers: { origin } } }) as never)
  const wait = client.callTool({ name: 'wait_for_answer', arguments: { id } })
  wait.catch(() => {})
  await untilWaiting(desk, 1)
  await client.close()
  await t.rejects(wait)
  await untilWaiting(desk, 0)
})

t.test('clients of both SDKs do their errand with a process, which ends with them', async t => {
  const endings: Array<Promise<string>> = []
  const v1 = new ClientV1(INFO)
  const v1Transport = new StdioV1({ ...CHILD, stderr: 'pipe' })
  endings.push(text(v1Transport.stderr as Readable))
  await v1.connect(v1Transport as never)
  await errand(t, v1, async () => {})
  await v1.close()

  for (const [mode, era] of [['auto', 'modern'], ['legacy', 'legacy']] as const) {
    const v2 = new ClientV2(INFO, { versionNegotiation: { mode } })
    const transport = new StdioV2({ ...CHILD, stderr: 'pipe' })
    endings.push(text(transport.stderr as Readable))
    await v2.connect(transport)
    t.equal(v2.getProtocolEra(), era)
    await errand(t, v2, async () => {})
    await v2.close()
  }
  for (const stderr of await Promise.all(endings)) t.equal(stderr, 'ended, spoken: true, waiting: 0\n', 'nothing else was said')
})
