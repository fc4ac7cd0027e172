import type { InputOf, Outcome, OutputOf } from '../../lib/room/store'
import type { RoomEvent } from '../../schemas/room'
import { LOG } from '../log'
import { isMissing, type Notes } from './notes'

const VERSION = 'rooms:version'

export interface Announced {
  list (): Promise<string[]>
  /** Tells one room, which knows by itself whether it has been told. */
  tell (room: string, input: InputOf<'noteVersion'>): Promise<Outcome<unknown>>
}

/**
 * Tells each room that another version was deployed. As long as the version is the same nothing wakes. A room that could
 * not be reached is told at the next waking, and nobody is kept waiting for it; one that has heard is not told again.
 */
export async function announceVersion (
  notes: Notes, { version, announce }: InputOf<'noteVersion'>, { list, tell }: Announced
): Promise<Outcome<OutputOf<'noteVersion'>>> {
  const before = notes.get<string>(VERSION)
  if (before === version) return { result: { changed: false }, events: [] }
  const events: RoomEvent[] = []
  let isTold = true
  if (before !== undefined && announce) {
    try {
      const told = await Promise.allSettled((await list()).map(room => tell(room, { version, announce, before })))
      for (const one of told) {
        if (one.status === 'fulfilled') events.push(...one.value.events)
        else if (!isMissing(one.reason)) throw one.reason
      }
    } catch (err) {
      isTold = false
      LOG.warn({ err }, 'A room could not be told of the new version; it will be')
    }
  }
  if (isTold) notes.put(VERSION, version)
  return { result: { changed: before !== undefined }, events }
}
