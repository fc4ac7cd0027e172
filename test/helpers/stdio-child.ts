// A process that speaks MCP on its standard input and output, on a queue in memory whose person answers whatever
// begins with "Answer me" at once. Run it with Node and the hooks of ts-hooks.mjs.
import { Desk } from '../../lib/desk'
import { MemoryTicketStore } from '../../lib/memory-store'
import { serveMcpStdio } from '../../lib/node/stdio'
import { OWNER } from '../../lib/principal'

const desk = await new Desk(new MemoryTicketStore()).open()
desk.subscribe(({ event, id, ticket }) => {
  if (event === 'enqueued' && ticket.question.startsWith('Answer me')) desk.answer(id, 'here', OWNER).catch(err => { process.stderr.write(`${err}\n`) })
})
const log = (level: string) => (details: object, message: string): void => { process.stderr.write(`${level} ${message} ${JSON.stringify(details)}\n`) }
const stdio = serveMcpStdio({
  desk, stream: 'child', version: '1.2.3', log: { info: log('info'), warn: log('warn'), error: log('error') }, progressMs: 20
})
await stdio.ended
process.stderr.write(`ended, spoken: ${stdio.spoken}, waiting: ${desk.waiting}\n`)
