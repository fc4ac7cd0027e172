// A service that releases nothing before a person has said so. Its own routes stand beside Ready Room's, which has its
// page at /room/ and its API and MCP below that.
import Fastify from 'fastify'
import readyroom, { ReadyroomError, type Ticket } from 'readyroom'

const { PORT = '8080', STATE_DIR = 'state', ROOM_TOKEN } = process.env

const app = Fastify({ logger: true })
const stopping = new AbortController()
const releases = new Map<string, string>()

await app.register(readyroom, { prefix: '/room', stateDir: STATE_DIR, stream: 'releases', token: ROOM_TOKEN })

// Whatever is decided, by whom and wherever it was asked.
app.readyroom.on('change', ({ id, stream, status }) => app.log.info({ id, stream, status }, 'ticket'))

/** Goes on once the ticket is settled, which may be in hours; nothing is held open meanwhile but this promise. */
async function releaseWhenSettled (version: string, { id }: Ticket): Promise<void> {
  const { status, answer, answered_by: by } = await app.readyroom.wait(id, { signal: stopping.signal })
  const yes = status === 'answered' && by === 'human' && answer === 'release'
  releases.set(version, yes ? 'released' : `held: ${answer ?? status}`)
}

app.post<{ Params: { version: string } }>('/releases/:version', async ({ params: { version } }, reply) => {
  try {
    const ticket = await app.readyroom.ask({
      question: `Release ${version}?`,
      options: ['release', 'hold'],
      urgency: 'blocking',
      timeout_seconds: 3_600,
      default_answer: 'hold'
    })
    releases.set(version, 'waits for a person')
    releaseWhenSettled(version, ticket).catch(err => app.log.warn({ err }, 'The wait has ended without a decision'))
    return await reply.code(202).send({ ticket: ticket.id, expires_at: ticket.expires_at })
  } catch (err) {
    if (err instanceof ReadyroomError && err.code === 'QUEUE_FULL') return reply.code(503).send({ message: err.message })
    throw err
  }
})

app.get<{ Params: { version: string } }>('/releases/:version', async ({ params: { version } }, reply) =>
  releases.get(version) ?? reply.callNotFound())

app.addHook('preClose', async () => stopping.abort())
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => { app.close() })

await app.listen({ host: '127.0.0.1', port: Number(PORT) })
