import { between, random, type Proof, type ProofOptions } from './harness'
import { distribution } from './distribution'
import { handOvers, type Event } from './election/hand-overs'
import { startTogether } from './election/starts'

interface Size { rounds: number, together: number, members: number, events: Record<Event, number> }

const SIZES: Record<'short' | 'long', Size> = {
  short: { rounds: 2, together: 8, members: 4, events: { kill: 2, pause: 1, stop: 1, stops: 1, term: 1, leave: 0 } },
  long: { rounds: 50, together: 20, members: 10, events: { kill: 80, pause: 40, stop: 30, stops: 10, term: 30, leave: 10 } }
}

/** Whatever happens to the daemon, there is one writer, every call gets its reply, and no ticket is there twice. */
export async function election ({ form, seed, say }: ProofOptions): Promise<Proof> {
  const { rounds, together, members, events } = SIZES[form]
  const next = random(seed)
  const broken: string[] = []

  const ready: number[] = []
  for (let round = 1; round <= rounds; round++) {
    const found = await startTogether({ count: together, pending: between(next, 0, 2) }).catch(err => ({ broken: [String(err)], readyMs: [] }))
    broken.push(...found.broken.map(sentence => `Round ${round}: ${sentence}`))
    ready.push(...found.readyMs)
    if (round % 10 === 0) say(`${round} rounds of ${together} starts`)
  }

  const order = shuffled(Object.entries(events).flatMap(([event, count]) => Array<Event>(count).fill(event as Event)), next)
  const found = await handOvers({ members, order, next, say })
  broken.push(...found.broken)

  // A daemon that is asked to leave answers what it can: how long nobody was served shows in the longest ask only.
  const took = (event: Event): ReadonlyArray<readonly [string, string]> => events[event] === 0
    ? []
    : [
        ...(event === 'kill' || event === 'pause' ? [[`${EVENT_NAMES[event]}: to the first acknowledged ask`, distribution(found.takeoverMs[event])] as const] : []),
        [`${EVENT_NAMES[event]}: the longest ask meanwhile`, distribution(found.longestMs[event])]
      ]
  return {
    broken,
    figures: [
      ['rounds of starts at one instant', `${rounds} of ${together} processes`],
      ['from the start of a process to its first acknowledged ask', distribution(ready)],
      ['what befell the daemon, with calls under way', `${order.length} times, ${members} agents`],
      ...took('kill'), ...took('stop'), ...took('stops'), ...took('term'), ...took('leave'), ...took('pause'),
      ['calls that had their reply', `${found.asks} asks, ${found.waits} waits`],
      ['calls that went with the process that made them', `${found.unanswered}`],
      ['audit entries, and daemons that wrote them', `${found.entries}, ${found.writers}`]
    ]
  }
}

const EVENT_NAMES: Record<Event, string> = {
  kill: 'kill -9', pause: 'four seconds of SIGSTOP, from their end', stop: 'readyroom stop', stops: 'three stops at once', term: 'SIGTERM', leave: 'its agent leaves'
}

function shuffled<T> (items: T[], next: () => number): T[] {
  for (let i = items.length - 1; i > 0; i--) {
    const j = between(next, 0, i);
    [items[i], items[j]] = [items[j]!, items[i]!]
  }
  return items
}
