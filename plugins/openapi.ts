import type { FastifyInstance } from 'fastify'
import { describeApi } from '../lib/openapi'
import { DescriptionSchema, NoQuerySchema } from '../schemas/api'
import { REFUSALS } from './errors'

export interface OpenapiOptions { version: string }

/** What the routes are, for programs. */
export default async function openapi (app: FastifyInstance, { version }: OpenapiOptions): Promise<void> {
  app.get('/openapi.json', { schema: { querystring: NoQuerySchema, response: { 200: DescriptionSchema, ...REFUSALS } } }, () => describeApi(version))
}
