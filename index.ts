import type { FastifyPluginAsync } from 'fastify'
import plugin, { type ReadyroomOptions } from './plugins/readyroom'

// What `import ... from 'readyroom'` gives: the plugin for a Fastify application of one's own, and what goes into it.

/**
 * Ready Room as a Fastify plugin: the page, the API, MCP, and `app.readyroom` to ask from code. Registered twice, each
 * under a prefix and with a decorator of its own, it is two.
 */
const readyroom: FastifyPluginAsync<ReadyroomOptions> = plugin
export default readyroom

export type { Readyroom, ReadyroomOptions } from './plugins/readyroom'
export type { HostEvents, HostWaitOptions } from './lib/node/host-desk'

export { FileTicketStore, type FileStoreOptions } from './lib/node/file-store'
export { MemoryTicketStore, type MemoryStoreOptions } from './lib/memory-store'
export type { AuditHead, Decision, TicketStore } from './lib/store'

export { ERRORS, ReadyroomError, type ErrorCode } from './lib/errors'

export { TicketSchema, TicketViewSchema, type Status, type Ticket, type TicketView, type Urgency } from './schemas/ticket'
export { AuditEntrySchema, TicketEventSchema, type AuditEntry, type EventName, type TicketEvent } from './schemas/event'
export { AskHumanInputSchema, type AskHumanInput, type PendingList } from './schemas/mcp'
export { ErrorBodySchema, type ErrorBody } from './schemas/error'
