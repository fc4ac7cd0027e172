import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import {
  AnswerBodySchema, AuditPageSchema, AuditQuerySchema, HistoryPageSchema, HistoryQuerySchema, NoQuerySchema, TicketListSchema, TicketParamsSchema,
  TicketSchema, UndoBodySchema
} from '../schemas/api'
import { auditPage, HISTORY_PAGE } from '../lib/pages'
import { REFUSALS } from './errors'

/** The tickets, as the heads-up page reads and settles them. */
const tickets: FastifyPluginAsyncTypebox = async function tickets (app) {
  const { desk, presence } = app

  app.get('/tickets', { schema: { querystring: NoQuerySchema, response: { 200: TicketListSchema, ...REFUSALS } } }, async () => {
    presence.notePoll()
    return desk.list()
  })

  // Something must stand behind the slash: without the pattern an empty id would match, and be told apart only behind the guards.
  app.get('/tickets/:id(^.+$)', { schema: { params: TicketParamsSchema, querystring: NoQuerySchema, response: { 200: TicketSchema, ...REFUSALS } } },
    async request => desk.get(request.params.id))

  app.get('/history', { schema: { querystring: HistoryQuerySchema, response: { 200: HistoryPageSchema, ...REFUSALS } } }, async request => {
    const { before, limit = HISTORY_PAGE } = request.query
    return desk.history(before, limit)
  })

  app.get('/audit', {
    schema: { querystring: AuditQuerySchema, response: { 200: AuditPageSchema, ...REFUSALS } },
    // A serializer made of the schema has an order of fields of its own, and whoever keeps an export could not check its hashes.
    serializerCompiler: () => value => JSON.stringify(value)
  }, async request => {
    const { after, limit } = request.query
    return auditPage(desk, after, limit)
  })

  app.post('/answer', { schema: { body: AnswerBodySchema, querystring: NoQuerySchema, response: { 200: TicketSchema, ...REFUSALS } } }, async request => {
    const { id, answer, answered_by: label } = request.body
    return desk.answer(id, answer, request.principal!, label)
  })

  app.post('/undo', { schema: { body: UndoBodySchema, querystring: NoQuerySchema, response: { 200: TicketSchema, ...REFUSALS } } },
    async request => desk.undo(request.body.id, request.principal!))
}

export default tickets
