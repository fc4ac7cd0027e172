import type { RoomInfo } from '../../schemas/room'
import type { CallHead, CommandName, Outcome } from '../../lib/room/store'
import type { Answer } from './engine'
import type { Telling, Told } from './history'
import type { TokenSet } from './mirror'

// How the objects of the rooms call each other. What crosses is data: see engine.

export interface Job {
  /** Which Ready Room of the deployment it is: each queue has its own rooms. */
  queue: string
  name: CommandName
  call: CallHead
  input: unknown
}

/** What became of tickets, for one room. `anew` where the room was taken back to an earlier day: it asks the registry again, too. */
export interface TellJob { queue: string, call: CallHead, telling: Telling, anew: boolean }

export interface RoomStub {
  tell (job: TellJob): Promise<Answer<Outcome<Told>>>
  run (job: Job): Promise<Answer<Outcome<unknown>>>
  /** The registry's word on who holds a token. Says what it added to the room's log. */
  learn (room: string, tokens: TokenSet, now: number): Promise<Answer<Outcome<null>>>
}

export interface RegistryStub {
  run (job: Job): Promise<Answer<Outcome<unknown>>>
  tokensFor (room: string): Promise<TokenSet>
  /** What a room says of itself, for the list of rooms. */
  noteRoom (info: RoomInfo): Promise<Answer<null>>
  forgetRoom (room: string): Promise<Answer<null>>
}

/** As much of a binding as it takes to reach an object by its name. */
interface Namespace {
  idFromName (name: string): unknown
  get (id: unknown): unknown
}

/** The bindings of a deployment that has rooms. */
export interface RoomsEnv { ROOM: Namespace, REGISTRY: Namespace }

/** One that was set up before there were rooms has none, until its bindings are added. */
export const hasRooms = (env: Partial<RoomsEnv>): env is RoomsEnv => env.ROOM !== undefined && env.REGISTRY !== undefined

export const roomStub = ({ ROOM }: Pick<RoomsEnv, 'ROOM'>, queue: string, room: string): RoomStub =>
  ROOM.get(ROOM.idFromName(JSON.stringify([queue, room]))) as RoomStub

export const registryStub = ({ REGISTRY }: Pick<RoomsEnv, 'REGISTRY'>, queue: string): RegistryStub =>
  REGISTRY.get(REGISTRY.idFromName(queue)) as RegistryStub
