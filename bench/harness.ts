import { Agent, request } from 'node:http'

/** Where a benchmark says what it found, a line at a time. */
export type Print = (line: string) => void

/** The value below which `share` (0..1) of the samples lie. */
export function percentile (samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN
}

export const median = (samples: readonly number[]): number => percentile(samples, 0.5)

/** A number as a table shows it: three digits that mean something, no more. */
export function short (value: number): string {
  if (!Number.isFinite(value)) return '-'
  if (value >= 1_000) return Math.round(value).toLocaleString('en-US')
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

export const ratio = (value: number): string => `${short(value)}x`

/** A table in Markdown, so that what is printed can be pasted into the README. */
export function table (print: Print, head: readonly string[], rows: ReadonlyArray<readonly string[]>): void {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  print(line(head))
  print(line(head.map(() => '---')))
  for (const row of rows) print(line(row))
  print('')
}

/** How much is measured: all of it, or what takes a minute. */
export interface Plan { quick: boolean }

/** Whether a bound that the product promises was held, said beside the figure. One that was missed fails the run. */
export function bound (held: boolean, text: string): string {
  if (!held) process.exitCode = 1
  return `${held ? 'holds' : 'MISSED'}: ${text}`
}

/** Whether what is aimed at was reached. It fails nothing: the machine may have been busy with something else. */
export const aim = (held: boolean, text: string): string => `${held ? 'reached' : 'not reached'}: ${text}`

export interface Reply { status: number, body: string }

/** A client on kept-alive connections, as thin as Node has one: what it costs itself must not hide what it measures. */
export function createCaller (
  port: number, connections = 64, credential: Record<string, string> = {}
): { post (path: string, body: object): Promise<Reply>, close (): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  return {
    post: (path, body) => new Promise((resolve, reject) => {
      const text = JSON.stringify(body)
      const req = request({
        agent,
        host: '127.0.0.1',
        port,
        path,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(text),
          accept: 'application/json, text/event-stream',
          origin: `http://127.0.0.1:${port}`,
          ...credential
        }
      }, res => {
        let received = ''
        res.setEncoding('utf8')
        res.on('data', (chunk: string) => { received += chunk })
        res.on('end', () => resolve({ status: res.statusCode ?? 0, body: received }))
        res.on('error', reject)
      })
      req.on('error', reject)
      req.end(text)
    }),
    close: () => agent.destroy()
  }
}

/** A tool call of the initialize-based era, whole in one message: nothing is remembered between calls. */
export const toolCall = (id: number, name: string, args: object): object =>
  ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } })

/** Calls a second while `count` of them are made, `callers` at once. Every call must succeed. */
export async function throughput (callers: number, count: number, call: (n: number) => Promise<unknown>): Promise<number> {
  let next = 0
  const start = performance.now()
  await Promise.all(Array.from({ length: callers }, async () => {
    while (next < count) await call(next++)
  }))
  return count / ((performance.now() - start) / 1_000)
}

/** How long each of `count` calls took, one after the other, in milliseconds. */
export async function latencies (count: number, call: (n: number) => Promise<unknown>): Promise<number[]> {
  const samples: number[] = []
  for (let n = 0; n < count; n++) {
    const start = performance.now()
    await call(n)
    samples.push(performance.now() - start)
  }
  return samples
}
