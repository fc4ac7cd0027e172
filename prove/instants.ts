import type { Rule } from './fault-rules'
import { between } from './harness'

/** What the daemon is doing when it is killed. */
export type Instant = 'at work' | 'closing' | 'starting'

/** Kinds of instants, as they follow each other in a state folder. */
const ORDER: readonly Instant[] = ['at work', 'at work', 'closing', 'at work', 'starting']

export const instantOf = (kill: number): Instant => ORDER[kill % ORDER.length]!

const pick = <T>(next: () => number, from: readonly T[]): T => from[Math.floor(next() * from.length)]!

const LOG = 'audit.jsonl'
const SNAPSHOT = 'tickets.json.tmp'

/** Places in the file operations at which a process can be made to die; `state` is the name of the folder. */
const EXACT: Record<Instant, readonly Rule[]> = {
  'at work': [
    { op: 'write', name: LOG, die: 'half' },
    { op: 'write', name: LOG, die: 'after' },
    { op: 'sync', name: LOG, die: 'before' },
    { op: 'sync', name: LOG, die: 'after' }
  ],
  closing: [
    { op: 'write', name: SNAPSHOT, die: 'half' },
    { op: 'sync', name: SNAPSHOT, die: 'before' },
    { op: 'rename', name: SNAPSHOT, die: 'before' },
    { op: 'rename', name: SNAPSHOT, die: 'after' },
    { op: 'syncFolder', name: 'state', die: 'after' }
  ],
  starting: [
    { op: 'open', name: LOG, die: 'after' },
    { op: 'sync', name: LOG, die: 'before' },
    { op: 'sync', name: LOG, die: 'after' },
    { op: 'truncate', name: LOG, die: 'after' },
    { op: 'syncFolder', name: 'state', die: 'before' }
  ]
}

/** A place to die at, somewhere in the next few commits. */
export function exactInstant (instant: Instant, next: () => number): Rule {
  const rule = pick(next, EXACT[instant])
  return { ...rule, after: instant === 'at work' ? between(next, 0, 40) : 0 }
}
