// Tickets a second from one end to the other: an agent asks and waits, a person answers, the agent has the answer.
import { durableRoundTrips } from './floors'
import { createCaller, median, type Plan, type Print, ratio, short, table, toolCall } from './harness'
import { startServer } from './processes'
import { structured } from './reply'

const AGENTS = [1, 100]

async function ticketsASecond (agents: number, each: number): Promise<number> {
  const server = await startServer()
  const caller = createCaller(server.port, agents * 2)
  const person = createCaller(server.port, 16)
  async function visit (agent: number, count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      const path = `/mcp/agent-${agent}`
      const { id } = structured<{ id: string }>((await caller.post(path, toolCall(n, 'ask_human', { question: 'Ship it?', options: ['yes', 'no'] }))).body)
      const waiting = caller.post(path, toolCall(n, 'wait_for_answer', { id, timeout_seconds: 60 }))
      const { status } = await person.post('/api/answer', { id, answer: 'yes' })
      const ticket = structured<{ answer: string }>((await waiting).body)
      if (status !== 200 || ticket.answer !== 'HUMAN ANSWER: yes') throw new Error(`A ticket was not answered: ${status} ${JSON.stringify(ticket)}`)
    }
  }
  const all = (count: number): Promise<unknown> => Promise.all(Array.from({ length: agents }, (_, agent) => visit(agent, count)))
  await all(Math.ceil(each / 10))
  const start = performance.now()
  await all(each)
  const seconds = (performance.now() - start) / 1_000
  caller.close()
  person.close()
  await server.close()
  return agents * each / seconds
}

export async function endToEndBench (print: Print, { quick }: Plan): Promise<void> {
  print('## Tickets a second, end to end: asked, waited for, answered, received')
  const floor = 1_000 / median(await durableRoundTrips())
  const rows = [['bare loopback POST with one sync, one after the other', short(floor), '1x']]
  for (const agents of AGENTS) {
    const rate = await ticketsASecond(agents, (quick ? 2_000 : 8_000) / (agents === 1 ? 10 : agents))
    rows.push([`${agents} agents`.replace(/^1 agents/, '1 agent'), short(rate), ratio(rate / floor)])
  }
  table(print, ['', 'a second', 'against the bare POST'], rows)
}
