import type { RoomEvent } from '../../schemas/room'
import type { Call } from './call'
import { attentionOf, noteAttention, summary } from './commands/attention'
import { members, setAlias } from './commands/agents'
import { addNote, claimTask, createTask, releaseTask, updateTask } from './commands/board'
import { ackMessage, postMessage, readMessages } from './commands/chat'
import { deliveriesOf, noteDeliveries, ticketsInRoom } from './commands/deliveries'
import { exportRoom } from './commands/export'
import { deleteFile, getFile, listFiles, putFile, readFile, sweepFiles } from './commands/files'
import { search } from './commands/search'
import { commitCursor, peek, readEvents, replay, whatsNew } from './commands/log'
import { addRoom, deleteRoom, getRoomInfo, listRooms, setRetention, setRoomInfo, sweepRoom } from './commands/rooms'
import { getTask, listTasks } from './commands/tasks-read'
import { appliedThrough, applyTickets, awaitedTickets, dropTicket, endWait, skipTickets } from './commands/tickets'
import { initialise, listTokens, loadTokens, mintToken, noteTokenUse, purgeTokens, revokeTokens } from './commands/tokens'
import { lapseLeases, leaveSilent, nextLease } from './commands/sweeping'
import { noteVersion } from './commands/upgrade'
import { forgetCalls } from './once'
import type { Steps } from './steps'

/** Everything that can be asked of a room's store, by name: what crosses to the thread or the object that has the database. */
export const COMMANDS = {
  postMessage,
  ackMessage,
  readMessages,
  whatsNew,
  peek,
  commitCursor,
  readEvents,
  replay,
  exportRoom,
  noteAttention,
  attentionOf,
  summary,
  listTasks,
  getTask,
  createTask,
  claimTask,
  updateTask,
  releaseTask,
  addNote,
  addRoom,
  listRooms,
  getRoomInfo,
  setRoomInfo,
  setRetention,
  deleteRoom,
  sweepRoom,
  putFile,
  getFile,
  readFile,
  listFiles,
  deleteFile,
  sweepFiles,
  search,
  members,
  setAlias,
  appliedThrough,
  applyTickets,
  skipTickets,
  deliveriesOf,
  noteDeliveries,
  ticketsInRoom,
  awaitedTickets,
  dropTicket,
  endWait,
  initialise,
  loadTokens,
  mintToken,
  listTokens,
  revokeTokens,
  purgeTokens,
  noteTokenUse,
  lapseLeases,
  nextLease,
  forgetCalls,
  leaveSilent,
  noteVersion
} as const

export type Commands = typeof COMMANDS
export type CommandName = keyof Commands
export type InputOf<N extends CommandName> = Parameters<Commands[N]>[1]
export type OutputOf<N extends CommandName> = ReturnType<Commands[N]> extends Steps<infer Output> ? Output : never

/** A call as whoever makes it knows it. */
export interface CallHead extends Omit<Call, 'events'> {
  /** The number of the caller's token, where it came with one: a room that lives apart from the tokens looks again whether it counts. */
  token?: number
  /** Of a call that may be sent again: who made it and how. Its result is remembered, see once. */
  key?: string
}

export interface Outcome<T> {
  result: T
  /** What it added to the room's log, in order. */
  events: RoomEvent[]
}

/**
 * Where rooms live. Each command is one transaction: all of it or nothing, one after the other.
 * Every implementation passes the suite in test/contract/room.ts.
 */
export interface RoomStore {
  /**
   * Opens the database, and brings it to this release's version.
   * @throws Error naming the file, where a newer release has written it or it cannot be read.
   */
  open (): Promise<void>

  /**
   * Runs a command and resolves when what it changed is durable; commands resolve in the order in which they were made.
   * @throws what the command throws; then nothing of it is there.
   * @throws STORE_UNAVAILABLE when it could not be made durable; then nothing of it is there either.
   */
  run<N extends CommandName> (name: N, call: CallHead, input: InputOf<N>): Promise<Outcome<OutputOf<N>>>

  /** A safe copy of the database as it is now, into a file that is not there yet. */
  backup (file: string): Promise<void>

  /** Idempotent; resolves when everything is durable and nothing is open. */
  close (): Promise<void>
}
