import type { HistoryPage, TicketList } from '../schemas/api'
import type { PendingList } from '../schemas/mcp'
import type { Ticket } from '../schemas/ticket'
import type { AgentDesk, Desk, WaitOptions } from './desk'
import { ReadyroomError } from './errors'
import { isBlank, type EnqueueInput } from './lifecycle'
import { mayEnter, type Principal } from './principal'

/** What everybody who is let in does at the desk, each as far as they may. */
export interface TicketDesk extends AgentDesk {
  list (): Promise<TicketList>
  get (id: string): Promise<Ticket>
  history (before: number | undefined, limit: number): Promise<HistoryPage>
  answer (id: string, text: string, label?: string): Promise<Ticket>
  undo (id: string): Promise<Ticket>
}

/** What a principal was let in by. */
export interface Credential {
  isLive (): boolean
  /** Hears that some tokens were revoked, perhaps this one. Returns how to stop listening. */
  onRevoked (listener: () => void): () => void
  /** Whether a room that it has a grant for is there still. */
  hasRoom (room: string): boolean
}

const FOR_EVER: Credential = { isLive: () => true, onRevoked: () => () => {}, hasRoom: () => true }

/** Whether a principal may see a ticket: those of its rooms. What was asked without a token is in no room, and the owner's alone. */
export const sees = (principal: Principal, { room }: Ticket): boolean =>
  principal.kind === 'owner' || (room !== undefined && mayEnter(principal, room)) || (room === undefined && principal.rooms === 'all')

/**
 * The desk as one principal uses it. Who may do a thing at all is decided where the route or the tool is registered; here
 * it is with which ticket. What a principal may not see is not there for it.
 */
export class PrincipalDesk implements TicketDesk {
  readonly #desk: Desk
  readonly #principal: Principal
  readonly #visible: (ticket: Ticket) => boolean
  readonly #credential: Credential

  /** `credential` says whether the credential still counts: a wait that ends with it tells nothing. */
  constructor (desk: Desk, principal: Principal, credential: Credential = FOR_EVER) {
    this.#desk = desk
    this.#principal = principal
    this.#visible = ticket => sees(principal, ticket)
    this.#credential = credential
  }

  ask (input: EnqueueInput, id?: string): Promise<Ticket> {
    if (this.#isOwner) return this.#desk.ask(input, id)
    const { name, home } = this.#principal
    const { stream } = input
    const [first, ...parts] = stream.split('/')
    if (first !== name || parts.some(isBlank)) {
      throw new ReadyroomError('BAD_REQUEST',
        `stream must be ${JSON.stringify(name)}, the name of your token, or that with a part behind it, as ${JSON.stringify(`${name}/part`)}; got ${JSON.stringify(stream)}.`)
    }
    const room = input.room ?? home
    if (!mayEnter(this.#principal, room)) throw new ReadyroomError('FORBIDDEN_ROOM', `The token of ${name} has no grant for the room ${JSON.stringify(room)}.`)
    if (!this.#credential.hasRoom(room)) {
      throw new ReadyroomError('ROOM_NOT_FOUND', `There is no room ${JSON.stringify(room)} any more, so nobody there would see the ticket. Whoever administers can give you a token of another.`)
    }
    return this.#desk.ask({ ...input, room, asker: name }, id)
  }

  /** Ends at once when the token is revoked. @throws TICKET_NOT_FOUND, NOT_YOUR_TICKET, also where the token ended meanwhile */
  async wait (id: string, { ms, signal }: WaitOptions): Promise<Ticket> {
    await this.#own(id, 'waits for')
    const over = new AbortController()
    const look = (): void => { if (!this.#credential.isLive()) over.abort() }
    const stop = this.#credential.onRevoked(look)
    // It may have ended before anybody listened.
    look()
    try {
      const ticket = await this.#desk.wait(id, { ms, signal: signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]) })
      if (!this.#credential.isLive()) throw new ReadyroomError('NOT_YOUR_TICKET', 'The token of this call has been revoked or has expired.')
      return ticket
    } finally {
      stop()
    }
  }

  async cancel (id: string): Promise<Ticket> {
    await this.#own(id, 'cancels')
    return this.#desk.cancel(id)
  }

  pending (): Promise<PendingList> {
    return this.#desk.pending(this.#visible)
  }

  list (): Promise<TicketList> {
    return this.#desk.list(this.#visible)
  }

  async get (id: string): Promise<Ticket> {
    const ticket = await this.#desk.get(id)
    if (!this.#visible(ticket)) throw this.#unknown(id)
    return ticket
  }

  history (before: number | undefined, limit: number): Promise<HistoryPage> {
    return this.#desk.history(before, limit, this.#visible)
  }

  /** A person with a token of their own answers under its name, whatever the label says. */
  async answer (id: string, text: string, label?: string): Promise<Ticket> {
    if (this.#isOwner) return this.#desk.answer(id, text, this.#principal, label)
    await this.get(id)
    return this.#desk.answer(id, text, this.#principal)
  }

  async undo (id: string): Promise<Ticket> {
    if (!this.#isOwner) await this.get(id)
    return this.#desk.undo(id, this.#principal)
  }

  get #isOwner (): boolean { return this.#principal.kind === 'owner' }

  /** @throws TICKET_NOT_FOUND. @throws NOT_YOUR_TICKET where another agent asked. */
  async #own (id: string, does: string): Promise<void> {
    if (this.#isOwner) return
    const { asker } = await this.get(id)
    if (asker !== this.#principal.name) throw new ReadyroomError('NOT_YOUR_TICKET', `Only the agent that enqueued a ticket ${does} it; ${id} is another's.`)
  }

  #unknown (id: string): ReadyroomError {
    return new ReadyroomError('TICKET_NOT_FOUND', `There is no ticket ${JSON.stringify(id.slice(0, 100))}. Use the id that ask_human returned.`)
  }
}
