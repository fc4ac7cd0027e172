import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { REFUSALS } from './errors'

export interface HealthOptions {
  version: string
  /** Which process this is: a new one is another instance. */
  instance: string
}

/** Says that we are here, and who we are; no credential, since it tells nothing of the tickets. */
export default async function health (app: FastifyInstance, { version, instance }: HealthOptions): Promise<void> {
  app.get('/healthz', { schema: { response: { 200: Type.String(), ...REFUSALS } } }, async (_request, reply) =>
    reply.header('x-readyroom', `${version}; instance=${instance}`).type('text/plain; charset=utf-8').send('ok'))
}
