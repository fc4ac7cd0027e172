import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import {
  AnswerBodySchema, AuditPageSchema, AuditQuerySchema, HistoryPageSchema, HistoryQuerySchema, JoinedTicketSchema,
  NoQuerySchema, TicketListSchema, TicketParamsSchema, TicketSchema, UndoBodySchema
} from '../schemas/api'
import type { Ticket } from '../schemas/ticket'
import { auditPage, HISTORY_PAGE } from '../lib/pages'
import { PrincipalDesk } from '../lib/principal-desk'
import type { RoomDesk } from '../lib/room/desk'
import { knownOf } from '../lib/room/ticket-watch'
import { REFUSALS } from './errors'

/** The tickets, as the heads-up page reads and settles them. */
const tickets: FastifyPluginAsyncTypebox<{ rooms?: RoomDesk | undefined }> = async function tickets (app, { rooms }) {
  const { desk, presence } = app
  const deskOf = (request: FastifyRequest): PrincipalDesk => new PrincipalDesk(desk, request.principal!)
  const known = (request: FastifyRequest, tickets: readonly Ticket[]) => knownOf(rooms, tickets, err => {
    request.log.warn({ err }, 'The rooms cannot be read; tickets are shown without what became of their answers')
  })

  app.get('/tickets', { config: { scope: 'tickets:read' }, schema: { querystring: NoQuerySchema, response: { 200: TicketListSchema, ...REFUSALS } } }, async request => {
    presence.notePoll()
    const { tickets, now } = await deskOf(request).list()
    const more = await known(request, tickets)
    return { tickets: tickets.map(ticket => ({ ...ticket, ...more[ticket.id] })), now }
  })

  // Something must stand behind the slash: without the pattern an empty id would match, and be told apart only behind the guards.
  app.get('/tickets/:id(^.+$)', {
    config: { scope: 'tickets:read' },
    schema: { params: TicketParamsSchema, querystring: NoQuerySchema, response: { 200: JoinedTicketSchema, ...REFUSALS } }
  }, async request => {
    const ticket = await deskOf(request).get(request.params.id)
    return { ...ticket, ...(await known(request, [ticket]))[ticket.id] }
  })

  app.get('/history', {
    config: { scope: 'tickets:read' },
    schema: { querystring: HistoryQuerySchema, response: { 200: HistoryPageSchema, ...REFUSALS } }
  }, async request => {
    const { before, limit = HISTORY_PAGE } = request.query
    return deskOf(request).history(before, limit)
  })

  // The whole record, of every room.
  app.get('/audit', {
    config: { scope: 'server:admin' },
    schema: { querystring: AuditQuerySchema, response: { 200: AuditPageSchema, ...REFUSALS } },
    // A serializer made of the schema has an order of fields of its own, and whoever keeps an export could not check its hashes.
    serializerCompiler: () => value => JSON.stringify(value)
  }, async request => {
    const { after, limit } = request.query
    return auditPage(desk, after, limit)
  })

  app.post('/answer', {
    config: { scope: 'tickets:answer' },
    schema: { body: AnswerBodySchema, querystring: NoQuerySchema, response: { 200: TicketSchema, ...REFUSALS } }
  }, async request => {
    const { id, answer, answered_by: label } = request.body
    return deskOf(request).answer(id, answer, label)
  })

  app.post('/undo', {
    config: { scope: 'tickets:answer' },
    schema: { body: UndoBodySchema, querystring: NoQuerySchema, response: { 200: TicketSchema, ...REFUSALS } }
  }, async request => deskOf(request).undo(request.body.id))
}

export default tickets
