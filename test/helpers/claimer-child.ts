// Run as a process of its own: `claimer-child.ts <url> <token>...`. For each line on standard input, the number of a
// task, all of its agents claim that task at once; what each was told is one line of JSON on standard output.
import { createInterface } from 'node:readline'

export interface Told { agent: number, status: number, error?: string, owner?: string }

if (import.meta.main) {
  const [url, ...tokens] = process.argv.slice(2) as [string, ...string[]]
  for await (const line of createInterface(process.stdin)) {
    const task = Number(line)
    const told = await Promise.all(tokens.map(async (token, agent): Promise<Told> => {
      const response = await fetch(`${url}/v1/tasks/claim`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        // Every other one asks for a lease.
        body: JSON.stringify({ task_id: task, ...(agent % 2 === 0 && { lease_seconds: 3_600 }) })
      })
      const { owner, error } = await response.json() as { owner?: string, error?: string }
      return { agent, status: response.status, ...(owner !== undefined && { owner }), ...(error !== undefined && { error }) }
    }))
    process.stdout.write(`${JSON.stringify(told)}\n`)
  }
}
