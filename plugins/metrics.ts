import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import type { Metrics } from '../lib/node/metrics'
import { NoQuerySchema } from '../schemas/api'
import { REFUSALS } from './errors'

export interface MetricsOptions { metrics: Metrics }

/** What Prometheus reads. Host, Origin and credential are checked before. */
export default async function metricsRoute (app: FastifyInstance, { metrics }: MetricsOptions): Promise<void> {
  metrics.watch(app)
  app.get('/', { schema: { querystring: NoQuerySchema, response: { 200: Type.String(), ...REFUSALS } } }, async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.text()))
}
