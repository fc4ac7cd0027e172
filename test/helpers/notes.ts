import type { Notes } from '../../worker/rooms/notes'

/** What the queue would keep, in memory, and how often it was written. */
export class MemoryNotes implements Notes {
  readonly kept = new Map<string, unknown>()
  writes = 0

  get<T> (name: string): T | undefined { return structuredClone(this.kept.get(name)) as T | undefined }

  put (name: string, value: unknown): void {
    this.writes++
    this.kept.set(name, structuredClone(value))
  }

  delete (name: string): void {
    this.writes++
    this.kept.delete(name)
  }
}
