import type { FastifyReply } from 'fastify'

/** Aborts when the client is gone before its answer is out. */
export function goneSignal ({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  if (raw.destroyed) gone.abort()
  raw.once('close', () => { if (!raw.writableFinished) gone.abort() })
  return gone.signal
}
