import type { AuditEntry } from '../schemas/event'

/** Tells whoever listens in this process what was committed, in the order of the audit log. */
export interface Bus {
  publish (entry: AuditEntry): void
  /** Returns how to stop listening. A listener must not throw. */
  subscribe (listener: (entry: AuditEntry) => void): () => void
}

export function createBus (): Bus {
  const listeners = new Set<(entry: AuditEntry) => void>()
  return {
    publish (entry) {
      for (const listener of listeners) listener(entry)
    },
    subscribe (listener) {
      listeners.add(listener)
      return () => { listeners.delete(listener) }
    }
  }
}
