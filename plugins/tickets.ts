import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import {
  AnswerBodySchema, AuditPageSchema, AuditQuerySchema, HistoryPageSchema, HistoryQuerySchema, NoQuerySchema, TicketListSchema, TicketParamsSchema,
  TicketSchema, UndoBodySchema
} from '../schemas/api'
import type { Desk } from '../lib/desk'
import { textSize } from '../lib/quota'
import type { AuditEntry } from '../schemas/event'
import { REFUSALS } from './errors'

const HISTORY_PAGE = 50
const AUDIT_PAGE = 500

/** Where a page of the audit log ends before its limit, in bytes of what agents and the person wrote. */
const AUDIT_BYTES = 8 * 1_024 * 1_024
const AUDIT_STEP = 20

/** A page may hold fewer entries than were asked for, so that long tickets cost no more memory than short ones. */
async function auditPage (desk: Desk, after: number, limit: number): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = []
  for (let bytes = 0; entries.length < limit && bytes < AUDIT_BYTES;) {
    const step = Math.min(AUDIT_STEP, limit - entries.length)
    const next = await desk.since(entries.at(-1)?.seq ?? after, step)
    entries.push(...next)
    if (next.length < step) break
    bytes += next.reduce((sum, { ticket }) => sum + textSize(ticket), 0)
  }
  return entries
}

/** The tickets, as the heads-up page reads and settles them. */
const tickets: FastifyPluginAsyncTypebox = async function tickets (app) {
  const { desk, presence } = app

  app.get('/tickets', { schema: { querystring: NoQuerySchema, response: { 200: TicketListSchema, ...REFUSALS } } }, async () => {
    presence.notePoll()
    return desk.list()
  })

  app.get('/tickets/:id', { schema: { params: TicketParamsSchema, querystring: NoQuerySchema, response: { 200: TicketSchema, ...REFUSALS } } },
    async request => desk.get(request.params.id))

  app.get('/history', { schema: { querystring: HistoryQuerySchema, response: { 200: HistoryPageSchema, ...REFUSALS } } }, async request => {
    const { before, limit = HISTORY_PAGE } = request.query
    return desk.history(before, limit)
  })

  app.get('/audit', { schema: { querystring: AuditQuerySchema, response: { 200: AuditPageSchema, ...REFUSALS } } }, async request => {
    const { after = 0, limit = AUDIT_PAGE } = request.query
    return { entries: await auditPage(desk, after, limit) }
  })

  app.post('/answer', { schema: { body: AnswerBodySchema, querystring: NoQuerySchema, response: { 200: TicketSchema, ...REFUSALS } } }, async request => {
    const { id, answer, answered_by: label } = request.body
    return desk.answer(id, answer, request.principal!, label)
  })

  app.post('/undo', { schema: { body: UndoBodySchema, querystring: NoQuerySchema, response: { 200: TicketSchema, ...REFUSALS } } },
    async request => desk.undo(request.body.id, request.principal!))
}

export default tickets
