import { setTimeout as delay } from 'node:timers/promises'
import type { World } from '../../test/helpers/process'
import { between } from '../harness'
import type { Door } from './door'

/** A ticket that a person may answer, and what the agent is to hear. */
interface Open { id: string, day: number, answered: (text: string) => void }

/** When an ask had its reply, how long it took, and how long the health check beside it did, in milliseconds. */
export type Asked = readonly [at: number, ms: number, floorMs: number]

const DEFAULT = 'DEFAULT ANSWER (applied on expiry; no human responded): go on'

export interface CrowdOptions {
  world: World
  door: Door
  next: () => number
  streams: number
  agents: number
  people: number
  readers: number
  /** Between two answers of one person, in milliseconds. */
  paceMs: number
  /** Between two visits of an agent with a process of its own, in milliseconds. */
  visitMs: number
}

type Count = 'asks' | 'answers' | 'undone' | 'cancelled' | 'defaults' | 'aborted' | 'overnight' | 'readers' | 'visits'

/** Everybody who uses a queue at once, until told to stop. Whatever is not as promised is noted, and the rest goes on. */
export class Crowd {
  readonly broken: string[] = []
  readonly counts: Record<Count, number> = {
    asks: 0, answers: 0, undone: 0, cancelled: 0, defaults: 0, aborted: 0, overnight: 0, readers: 0, visits: 0
  }

  readonly asks: Asked[] = []
  /** What became of each acknowledged ticket, as its agent was told. */
  readonly told = new Map<string, string>()
  readonly #of: CrowdOptions
  readonly #open: Open[] = []
  readonly #stopping = new AbortController()
  readonly #done: Promise<unknown>
  readonly #failed = Promise.withResolvers<void>()
  #stream = 0
  #day = 0
  #isNight = false
  #working = 0

  constructor (of: CrowdOptions) {
    this.#of = of
    const many = (count: number, one: () => Promise<void>): Array<Promise<void>> => Array.from({ length: count }, () => this.#repeat(one))
    this.#done = Promise.all([
      ...many(of.agents, () => this.#agent()),
      ...many(of.people, () => this.#person()),
      ...many(of.readers, () => this.#reader()),
      ...many(1, () => this.#visitor())
    ])
  }

  /** A day goes by in one moment, while `jump` is under way: whatever is pending is due then. */
  async night<T> (jump: () => Promise<T>): Promise<T> {
    this.#isNight = true
    try {
      return await jump()
    } finally {
      this.#day++
      this.#isNight = false
    }
  }

  /** Whether what was asked on that day may have run out since. */
  #mayBeDue (day: number): boolean { return this.#isNight || day !== this.#day }

  /** Nothing new is begun; resolves when all that was begun has come to its end, or at once where a promise was broken. */
  async stop (): Promise<void> {
    this.#stopping.abort()
    await Promise.race([this.#done, this.#failed.promise])
  }

  async #repeat (one: () => Promise<void>): Promise<void> {
    // People stay until no agent waits for them any more. Where one gave up, others would wait for it without end.
    while ((!this.#over || this.#working > 0) && this.broken.length === 0) {
      await one().catch(err => { this.broken.push(err instanceof Error ? err.message : String(err)) })
    }
    if (this.broken.length > 0) this.#failed.resolve()
  }

  get #over (): boolean { return this.#stopping.signal.aborted }

  /** One ticket, from its question to its end. */
  async #agent (): Promise<void> {
    if (this.#over) return pause()
    this.#working++
    try {
      await this.#ticket()
    } finally {
      this.#working--
    }
  }

  async #ticket (): Promise<void> {
    const { door, next, streams } = this.#of
    const stream = `stream-${this.#stream++ % streams}`
    const kind = next()
    const expires = kind < 0.1
    const day = this.#day
    const start = performance.now()
    const { id } = await door.call(stream, 'ask_human', {
      question: `May I go on, ${stream}?`,
      context: 'x'.repeat(between(next, 0, 600)),
      timeout_seconds: expires ? 1 : 86_400,
      ...(next() < 0.5 && { options: ['yes', 'no'] }),
      ...(expires && { default_answer: 'go on' })
    })
    const at = performance.now()
    await door.get('/healthz')
    this.asks.push([at, at - start, performance.now() - at])
    this.counts.asks++

    if (expires) {
      const { status, answer } = await this.#settled(stream, id)
      if (status !== 'expired' || answer !== DEFAULT) throw new Error(`Ticket ${id} should have run out, and is ${status} with "${answer}"`)
      this.counts.defaults++
      this.told.set(id, 'expired')
      return
    }
    if (kind < 0.2) {
      const { status } = await door.call(stream, 'cancel_ticket', { id }).catch(err => this.#unlessOvernight(err, day))
      this.told.set(id, status)
      this.counts.cancelled++
      return
    }
    const { promise: text, resolve: answered } = Promise.withResolvers<string>()
    if (kind < 0.3) await this.#abortedWait(stream, id)
    this.#open.push({ id, day, answered })
    const { status, answer } = await this.#settled(stream, id)
    if (status === 'expired' && this.#mayBeDue(day)) {
      this.counts.overnight++
      this.told.set(id, 'expired')
      return
    }
    const said = await text
    if (status !== 'answered' || ![said, said.replace('really ', '')].some(text => answer === `HUMAN ANSWER: ${text}`)) {
      throw new Error(`Ticket ${id} was answered "${said}", and is ${status} with "${answer}"`)
    }
    this.told.set(id, 'answered')
  }

  async #settled (stream: string, id: string): Promise<{ status: string, answer?: string }> {
    for (;;) {
      const ticket = await this.#of.door.call(stream, 'wait_for_answer', { id, timeout_seconds: 20 })
      if (ticket.status !== 'pending') return ticket
    }
  }

  /** A wait that is given up in the middle. */
  async #abortedWait (stream: string, id: string): Promise<void> {
    await this.#of.door.call(stream, 'wait_for_answer', { id, timeout_seconds: 600 }, AbortSignal.timeout(between(this.#of.next, 1, 50))).then(
      () => {}, () => { this.counts.aborted++ })
  }

  /** One answer, which is sometimes taken back and given anew. */
  async #person (): Promise<void> {
    const ticket = this.#open.shift()
    if (ticket === undefined) return pause()
    const { id, day, answered } = ticket
    const text = `yes ${this.counts.answers++}`
    const undoes = this.#of.next() < 0.1
    // Where it is taken back, either is right: which of the two the agent met depends on when it looked.
    answered(undoes ? `really ${text}` : text)
    if (undoes) {
      const ok = await this.#say('/api/answer', { id, answer: text, answered_by: 'somebody' }, day) && await this.#say('/api/undo', { id }, day)
      if (ok && await this.#say('/api/answer', { id, answer: `really ${text}` }, day)) this.counts.undone++
    } else {
      await this.#say('/api/answer', { id, answer: text, answered_by: 'somebody' }, day)
    }
    const { paceMs, next } = this.#of
    if (!this.#over) await delay(paceMs * (0.5 + next()), undefined, { signal: this.#stopping.signal }).catch(() => {})
  }

  async #say (path: string, body: object, day: number): Promise<boolean> {
    const { status, body: said } = await this.#of.door.post<object>(path, body)
    if (status === 200) return true
    if (!this.#mayBeDue(day) || status !== 409) throw new Error(`${path} gave ${status}: ${JSON.stringify(said)}`)
    return false
  }

  #unlessOvernight (err: unknown, day: number): { status: string } {
    if (!this.#mayBeDue(day)) throw err
    this.counts.overnight++
    return { status: 'expired' }
  }

  /** A page: reads the list, then the events, which follow each other without a gap; leaves and comes back where it was. */
  async #reader (): Promise<void> {
    if (this.#over) return pause()
    const { door, next } = this.#of
    JSON.parse(await door.get('/api/tickets'))
    let last: number | undefined
    for (let visit = 0; visit < 3 && !this.#over; visit++) {
      const leaving = new AbortController()
      const wanted = between(next, 5, 60)
      const signal = AbortSignal.any([leaving.signal, this.#stopping.signal])
      let text = ''
      let seen = 0
      try {
        const res = await door.stream('/api/events', last === undefined ? {} : { 'last-event-id': String(last) }, signal)
        res.setEncoding('utf8')
        for await (const part of res) {
          const frames = (text += part as string).split('\n\n')
          text = frames.pop()!
          for (const frame of frames) {
            const id = /^id: (\d+)$/m.exec(frame)?.[1]
            if (id === undefined) continue
            const isTicket = /^event: ticket$/m.test(frame)
            if (isTicket && last !== undefined && Number(id) !== last + 1) this.broken.push(`A reader of the events was at ${last} and was sent ${id}`)
            last = Number(id)
            if (isTicket) seen++
          }
          if (seen >= wanted) leaving.abort()
        }
      } catch (err) {
        if (!signal.aborted) throw err
      }
      this.counts.readers++
    }
  }

  /** An agent that is started, asks, hears the answer and leaves. */
  async #visitor (): Promise<void> {
    if (this.#over) return pause()
    this.#working++
    try {
      const { world, visitMs } = this.#of
      const running = world.start([], { cwd: `visitor-${this.counts.visits++}` })
      await running.initialize()
      const day = this.#day
      const { id } = await running.call('ask_human', { question: 'May I come in?', timeout_seconds: 86_400 }, VISIT_MS)
      const { promise: text, resolve: answered } = Promise.withResolvers<string>()
      this.#open.push({ id, day, answered })
      let ticket
      do ticket = await running.call('wait_for_answer', { id, timeout_seconds: 60 }, VISIT_MS); while (ticket.status === 'pending')
      if (ticket.status === 'answered') await text
      else if (!this.#mayBeDue(day)) throw new Error(`A visitor's ticket ${id} is ${ticket.status}`)
      this.told.set(id, ticket.status)
      running.child.stdin!.end()
      const { code, stderr } = await running.finished
      if (code !== 0) throw new Error(`A visitor's process ended with ${code}: ${stderr}`)
      await delay(visitMs, undefined, { signal: this.#stopping.signal }).catch(() => {})
    } finally {
      this.#working--
    }
  }
}

/** How long a reply to an agent's process may take, in milliseconds: a wait of a minute, on a busy machine. */
const VISIT_MS = 120_000

/** Between two looks of somebody who has nothing to do. */
const pause = (): Promise<void> => delay(10)
