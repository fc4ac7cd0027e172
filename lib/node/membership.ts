import { setTimeout as delay } from 'node:timers/promises'
import type { PendingList } from '../../schemas/mcp'
import type { Ticket } from '../../schemas/ticket'
import type { AgentDesk, WaitOptions } from '../desk'
import type { EnqueueInput } from '../lifecycle'
import type { Config } from './config'
import { elect, TIMINGS, type Candidate, type Elected, type Following, type Leading, type Timings } from './election'
import { FolderWatch } from './folder-watch'
import { HEIR_TIMINGS, install, needsHeir, raiseHeir, type HeirTimings } from './heir'
import { Linger, LINGER_TIMINGS, type LingerTimings } from './linger'
import type { Log } from './log'
import { PatientDesk, type PatientDeskOptions } from './patient-desk'
import { localSeat, remoteSeat, Seats } from './seat'
import { findPredecessor, type Predecessor, type SuccessorOptions } from './successor'

export type Role = 'electing' | 'daemon' | 'client' | 'left'

/** Why a process has nothing more to do here. */
export type Ending = 'left' | 'stopped' | 'handed over' | 'idle' | 'superfluous'

export interface MembershipTimings extends Timings, HeirTimings {
  /** How long a holder that never proves itself is waited for at start, in milliseconds. */
  startMs: number
  /** How long those who saw a hand-over announced leave the folder to the newer version, in milliseconds. */
  standBackMs: number
  /** Between two attempts of a process that was refused, in milliseconds. */
  refusedMs: number
  /** Between two looks of a daemon at whether its folder is still there, in milliseconds. */
  folderMs: number
}

export const MEMBERSHIP_TIMINGS: MembershipTimings = {
  ...TIMINGS,
  ...HEIR_TIMINGS,
  startMs: 30_000,
  standBackMs: 3_000,
  refusedMs: 1_000,
  folderMs: 5_000
}

export interface MembershipOptions {
  config: Config
  version: string
  log: Log
  /** Builds the app, listens, and resolves once both are done. Rejects with nothing left open. */
  openDaemon: Candidate['openDaemon']
  /** Hears of every change of role. */
  onRole?: (role: Role) => void
  /** How a successor is started; that of this process unless a test says otherwise. */
  successor?: Omit<SuccessorOptions, 'settings'>
  predecessor?: Predecessor
  timings?: Partial<MembershipTimings>
  linger?: LingerTimings
  patience?: PatientDeskOptions
}

/** This process's place among those of this machine: the daemon or a client of it, whatever happens to the others. */
export class Membership implements AgentDesk {
  readonly #options: MembershipOptions
  readonly #timings: MembershipTimings
  readonly #seats = new Seats()
  readonly #desk: PatientDesk
  readonly #predecessor: Predecessor | undefined
  readonly #leaving = new AbortController()
  readonly #ended = Promise.withResolvers<Ending>()
  #config: Config
  #role: Role = 'electing'
  #place: Elected | undefined
  /** Whatever leads to the next place; never rejects. */
  #under: Promise<void> = Promise.resolve()
  #linger: Linger | undefined
  #watch: FolderWatch | undefined
  #left: Promise<void> | undefined
  #standBackUntil = 0

  constructor (options: MembershipOptions) {
    this.#options = options
    this.#config = options.config
    this.#timings = { ...MEMBERSHIP_TIMINGS, ...options.timings }
    this.#desk = new PatientDesk(this.#seats, { ...options.patience, agentToken: options.config.agentToken })
    if (options.config.linger) this.#predecessor = options.predecessor ?? findPredecessor()
  }

  get role (): Role { return this.#role }

  /** The settings in force: those of the daemon, once there is one. */
  get config (): Config { return this.#config }

  /** Who the daemon is, for people to read. Undefined while there is none. */
  get daemon (): { pid: number, port: number, version: string } | undefined {
    const place = this.#place
    if (place === undefined) return undefined
    return place.role === 'client' ? place.status : { pid: process.pid, port: place.daemon.port, version: this.#options.version }
  }

  /** Resolves when this process should end: it has left, was told to stop, or nothing waits for it any more. Never rejects. */
  get ended (): Promise<Ending> { return this.#ended.promise }

  /** Resolves when a role is known. @throws RefusedError with the remedy */
  async start (): Promise<Role> {
    const place = this.#predecessor === undefined ? this.#elect(this.#timings.startMs) : this.#succeed(this.#predecessor)
    this.#under = place.catch(() => {})
    await place.catch(err => {
      if (!this.#leaving.signal.aborted) throw err
    })
    return this.#role
  }

  ask (input: EnqueueInput, id?: string): Promise<Ticket> { return this.#desk.ask(input, id) }
  wait (id: string, options: WaitOptions): Promise<Ticket> { return this.#desk.wait(id, options) }
  pending (): Promise<PendingList> { return this.#desk.pending() }
  cancel (id: string): Promise<Ticket> { return this.#desk.cancel(id) }

  room (...call: Parameters<PatientDesk['room']>): Promise<object> { return this.#desk.room(...call) }
  whoami (ms: number): ReturnType<PatientDesk['whoami']> { return this.#desk.whoami(ms) }

  /**
   * Gives the place up, in less than two seconds. Where this is the daemon, no client is left, and a ticket is pending
   * or a page open, `successor` says whether a detached process takes over. Idempotent; never rejects.
   */
  leave ({ successor }: { successor: boolean }): Promise<void> {
    return this.#quit('left', successor)
  }

  #quit (ending: Ending, successor: boolean): Promise<void> {
    this.#left ??= this.#leave(successor)
      .catch(err => this.#options.log.error({ err }, 'Leaving did not go well; every acknowledged ticket is safe'))
      .then(() => this.#end(ending))
    return this.#left
  }

  async #leave (successor: boolean): Promise<void> {
    const { log } = this.#options
    // Where the daemon has just gone too, this may be the last process that can leave somebody for what is pending.
    if (this.#role === 'electing' && successor) await Promise.race([this.#under, delay(500, undefined, { ref: false })])
    this.#leaving.abort(new Error('This process is leaving'))
    await this.#under
    const place = this.#place
    if (place?.role === 'client') this.#detach(place)
    if (place?.role !== 'daemon') return
    const heir = successor && await needsHeir(place, this.#timings)
      ? await raiseHeir({ ...this.#options.successor, settings: place.config }, this.#timings, log)
      : undefined
    this.#seats.refuse(ENDING)
    await this.#close(place)
    if (heir !== undefined) await install(heir, this.#timings, log)
  }

  #candidate (startMs: number): Candidate {
    const { version, openDaemon } = this.#options
    return {
      config: this.#config,
      version,
      openDaemon,
      onStop: () => { this.#quit('stopped', false) },
      onHandOver: () => this.#handOver(),
      timings: this.#timings,
      signal: this.#leaving.signal,
      standBackUntil: this.#standBackUntil,
      giveUpAt: performance.now() + startMs,
      mayFollow: () => true
    }
  }

  async #elect (startMs: number): Promise<void> {
    this.#take(await elect(this.#candidate(startMs)))
  }

  /** A successor takes over from one process and no other: where anybody else is faster, nothing waits for it. */
  async #succeed (predecessor: Predecessor): Promise<void> {
    let gone = false
    predecessor.gone.then(() => { gone = true })
    predecessor.say('ready')
    try {
      const timings = { ...this.#timings, pollMs: Math.min(this.#timings.pollMs, 10) }
      this.#take(await elect({ ...this.#candidate(Infinity), timings, mayFollow: () => gone }))
    } finally {
      predecessor.say(this.#role === 'daemon' ? 'holding' : 'superfluous')
      predecessor.release()
    }
  }

  #take (elected: Elected): void {
    this.#place = elected
    this.#config = elected.config
    if (elected.role === 'daemon') this.#lead(elected)
    else this.#follow(elected)
    this.#setRole(elected.role)
  }

  #lead (place: Leading): void {
    const { config, daemon, clients, isDeleted } = place
    this.#seats.take(localSeat(daemon.desk, daemon.doors))
    this.#watch = new FolderWatch({ isDeleted, onDeleted: () => this.#beginAnew(place), everyMs: this.#timings.folderMs })
    if (config.linger) {
      const onIdle = (): void => { this.#quit('idle', false) }
      this.#linger = new Linger({ desk: daemon.desk, presence: daemon.presence, clients, onIdle, timings: this.#options.linger ?? LINGER_TIMINGS })
    }
    this.#options.log.info({ port: daemon.port, stateDir: config.stateDir }, 'This process is the daemon')
  }

  #follow (place: Following): void {
    const { pid, port, version } = place.status
    this.#seats.take(remoteSeat(place.link))
    place.attachment.ended.then(() => this.#lose(place))
    this.#options.log.info({ daemon: pid, port, version }, 'Attached to the daemon')
    if (this.#config.linger) this.#quit('superfluous', false)
  }

  /** The daemon has gone, however it went. */
  #lose (place: Following): void {
    if (this.#place !== place || this.#leaving.signal.aborted) return
    const handsOver = place.attachment.farewell === HAND_OVER
    this.#options.log.info({ daemon: place.status.pid }, handsOver ? 'The daemon hands over to a newer version' : 'The daemon has gone')
    place.link.close()
    this.#electAgain(handsOver)
  }

  #handOver (): void {
    const place = this.#place
    if (place?.role !== 'daemon' || this.#left !== undefined) return
    this.#options.log.info({}, 'Handing over to a newer version')
    place.clients.say(HAND_OVER)
    if (this.#config.linger) this.#quit('handed over', false)
    else this.#electAgain(true, this.#close(place))
  }

  /** Whoever deletes the folder deletes the queue; those who are here go on with an empty one. */
  #beginAnew (place: Leading): void {
    if (this.#place !== place || this.#left !== undefined) return
    this.#options.log.error({ stateDir: place.config.stateDir }, 'The state folder was deleted, and every ticket with it')
    if (this.#config.linger) this.#quit('idle', false)
    else this.#electAgain(false, this.#close(place))
  }

  #electAgain (handsOver: boolean, after: Promise<void> = Promise.resolve()): void {
    this.#seats.vacate()
    this.#place = undefined
    this.#setRole('electing')
    this.#under = after.then(() => {
      if (handsOver) this.#standBackUntil = performance.now() + this.#timings.standBackMs
      return this.#keepElecting()
    })
  }

  /** A refusal is final at start only; later it is what calls are told, and another attempt follows. */
  async #keepElecting (): Promise<void> {
    const { signal } = this.#leaving
    let said = ''
    while (!signal.aborted) {
      try {
        return await this.#elect(Infinity)
      } catch (err) {
        if (signal.aborted) return
        const { message } = err as Error
        this.#seats.refuse(message)
        if (message !== said) this.#options.log.error({ err }, 'This process cannot take part for now; it keeps trying')
        said = message
        await delay(this.#timings.refusedMs, undefined, { signal }).catch(() => {})
      }
    }
  }

  async #close (place: Leading): Promise<void> {
    this.#linger?.stop()
    this.#watch?.stop()
    this.#seats.vacate()
    await place.close().catch(err => this.#options.log.error({ err }, 'The daemon did not close cleanly; every acknowledged ticket is safe'))
  }

  #detach ({ attachment, link }: Following): void {
    this.#seats.refuse(ENDING)
    this.#seats.vacate()
    attachment.detach()
    link.close()
  }

  #setRole (role: Role): void {
    if (this.#role === role) return
    this.#role = role
    this.#options.onRole?.(role)
  }

  #end (ending: Ending): void {
    this.#place = undefined
    this.#seats.refuse(ENDING)
    this.#setRole('left')
    this.#ended.resolve(ending)
  }
}

const ENDING = 'This Ready Room process is ending.'

/** What a daemon says to its clients before it makes room for a newer version. */
const HAND_OVER = 'hand-over'
