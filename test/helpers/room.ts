import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { buildApp } from '../../app'
import type { Desk } from '../../lib/desk'
import { MemoryTicketStore } from '../../lib/memory-store'
import type { OriginPolicy } from '../../lib/origin'

/** Where the project is, with a final slash. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** How to start a process that speaks MCP on its standard input and output. */
export const CHILD = { command: process.execPath, args: [`--import=${ROOT}ts-hooks.mjs`, `${ROOT}test/helpers/stdio-child.ts`] }

export interface Room { desk: Desk, url: string, origin: string }

/** The whole application, listening as it would for a person, on a queue in memory. */
export async function startRoom (t: Test, { originPolicy, token }: { originPolicy?: OriginPolicy, token?: string } = {}): Promise<Room> {
  const app = await buildApp({ store: new MemoryTicketStore(), version: '1.2.3', instance: 'test', port: 0, originPolicy, token })
  t.teardown(() => app.close())
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  return { desk: app.readyroom.desk, url: `${origin}/mcp/client`, origin }
}
