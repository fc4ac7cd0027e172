// Memory of the server process after a garbage collection: idle, with 10,000 pending tickets, with 1,000 waiters and 100 event streams.
import { Agent, get } from 'node:http'
import { createCaller, type Print, short, table, toolCall } from './harness'
import { type Memory, startServer } from './processes'

const MIB = 1_024 * 1_024

export async function memoryBench (print: Print): Promise<void> {
  print('## Memory of the server, in MiB')
  const server = await startServer()
  const caller = createCaller(server.port, 32)
  const idle = await server.memory()

  const ids: string[] = []
  await Promise.all(Array.from({ length: 20 }, async (_, stream) => {
    for (let n = 0; n < 500; n++) {
      const { body } = await caller.post(`/mcp/bench-${stream}`, toolCall(n, 'ask_human', {
        question: 'Which of the two migrations should run first?', options: ['users', 'orders'], context: 'x'.repeat(500)
      }))
      ids.push(/[0-9a-f-]{36}/.exec(body)![0])
    }
  }))
  const pending = await server.memory()

  const waiting = createCaller(server.port, 1_000)
  const waits = ids.slice(0, 1_000).map(id => waiting.post('/mcp/bench', toolCall(1, 'wait_for_answer', { id, timeout_seconds: 300 })).catch(() => {}))
  const agent = new Agent({ maxSockets: 100 })
  await Promise.all(Array.from({ length: 100 }, () => new Promise<void>((resolve, reject) => {
    get({ agent, host: '127.0.0.1', port: server.port, path: '/api/events', headers: { accept: 'text/event-stream' } }, res => {
      res.on('error', () => {})
      res.once('data', () => { resolve() })
    }).on('error', reject)
  })))
  const attached = await server.memory()

  const row = (what: string, { rss, heapUsed }: Memory): string[] => [what, short(rss / MIB), short(heapUsed / MIB)]
  table(print, ['', 'resident', 'heap in use'], [
    row('idle', idle),
    row('10,000 pending', pending),
    row('10,000 pending, 1,000 waiters, 100 event streams', attached)
  ])
  agent.destroy()
  waiting.close()
  caller.close()
  await Promise.all(waits)
  await server.close()
}
