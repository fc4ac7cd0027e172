import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client'
import type { Test } from 'tap'
import type { Era } from '../contract/mcp'

const INFO = { name: 'readyroom-test', version: '1.0.0' }

/** A client of the SDK's second version on any transport, closed with the test. */
export async function connectOver (t: Test, era: Era, transport: Transport): Promise<Client> {
  const client = new Client(INFO, { versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' } })
  t.teardown(() => client.close())
  await client.connect(transport)
  return client
}

/** The same over HTTP. */
export const connectHttp = (t: Test, era: Era, url: string, headers: Record<string, string> = {}, fetch = globalThis.fetch): Promise<Client> =>
  connectOver(t, era, new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers }, fetch }))
