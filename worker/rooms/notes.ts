import type { CallHead, CommandName, InputOf, Outcome, OutputOf } from '../../lib/room/store'

/** What the object that uses the rooms keeps of its own: a few values by name, durable like everything else in it. */
export interface Notes {
  get<T> (name: string): T | undefined
  put (name: string, value: unknown): void
  delete (name: string): void
}

/** Runs a command in the room of its call. @throws ROOM_NOT_FOUND, STORE_UNAVAILABLE, and what the command throws. */
export type InRoom = <N extends CommandName>(name: N, call: CallHead, input: InputOf<N>) => Promise<Outcome<OutputOf<N>>>

export const isMissing = (err: unknown): boolean => (err as { code?: string }).code === 'ROOM_NOT_FOUND'
