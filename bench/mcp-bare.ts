// What the SDK itself costs: its own handlers as they come, with an `ask_human` that checks nothing and stores nothing.
//   node bench/mcp-bare.ts http    prints its port, and ends with its standard input
//   node bench/mcp-bare.ts stdio   speaks MCP on its pipes
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

function bareServer (): Server {
  const server = new Server({ name: 'bare', version: '0.0.0' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', () => ({ tools: [{ name: 'ask_human', inputSchema: { type: 'object' as const } }] }))
  server.setRequestHandler('tools/call', () => {
    const ticket = { id: randomUUID(), status: 'pending', expires_at: new Date(Date.now() + 1_800_000).toISOString() }
    return { content: [{ type: 'text' as const, text: JSON.stringify(ticket) }], structuredContent: ticket }
  })
  return server
}

function serveHttp (): void {
  const handler = createMcpHandler(bareServer)

  async function answer (req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const headers = new Headers(Object.entries(req.headers).map(([name, value]): [string, string] => [name, String(value)]))
    const response = await handler.fetch(new Request(`http://localhost${req.url}`, { method: 'POST', headers, body: Buffer.concat(chunks) }))
    res.writeHead(response.status, Object.fromEntries(response.headers))
    if (response.body !== null) for await (const chunk of response.body) res.write(chunk)
    res.end()
  }

  const server = createServer((req, res) => { answer(req, res).catch(err => { res.destroy(err as Error) }) })
  server.listen(0, '127.0.0.1', () => { process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`) })
  process.stdin.resume().once('end', () => {
    server.close()
    server.closeAllConnections()
  })
}

if (process.argv[2] === 'stdio') serveStdio(bareServer)
else serveHttp()
