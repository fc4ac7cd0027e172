import type { RoomEvent } from '../../schemas/room'

type Listener = (event: RoomEvent) => void

/** Who hears of what happens in the rooms, in order, once it is durable. No listener may throw. */
export class RoomFeed {
  readonly #ofRoom = new Map<string, Set<Listener>>()
  readonly #ofAll = new Set<Listener>()
  readonly #deletion = new Set<(room: string) => void>()

  /** Whether anybody listens to a room. */
  get isWatched (): boolean { return this.#ofRoom.size > 0 }

  /** Hears of every event of a room. Returns how to stop listening. */
  subscribe (room: string, listener: Listener): () => void {
    const listeners = this.#ofRoom.get(room) ?? new Set()
    this.#ofRoom.set(room, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#ofRoom.get(room) === listeners) this.#ofRoom.delete(room)
    }
  }

  /** Hears of the events of every room. Returns how to stop listening. */
  overhear (listener: Listener): () => void {
    this.#ofAll.add(listener)
    return () => { this.#ofAll.delete(listener) }
  }

  /** Hears of rooms that are deleted. Returns how to stop listening. */
  onDeleted (listener: (room: string) => void): () => void {
    this.#deletion.add(listener)
    return () => { this.#deletion.delete(listener) }
  }

  publish (events: readonly RoomEvent[]): void {
    for (const event of events) {
      for (const listener of this.#ofRoom.get(event.room) ?? []) listener(event)
      for (const listener of this.#ofAll) listener(event)
    }
  }

  deleted (room: string): void {
    for (const listener of this.#deletion) listener(room)
  }
}
