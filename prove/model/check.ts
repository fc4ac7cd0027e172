import fc from 'fast-check'
import type { EventName } from '../../schemas/event'
import { QueueModel } from './queue'
import { Real, type Make } from './real'
import { commands } from './commands'

export interface CheckOptions {
  seed: number
  /** How many sequences. */
  runs: number
  /** How long one may be. */
  length: number
}

export interface Checked { runs: number, commands: number, reopened: number, events: Record<EventName, number> }

const START = Date.parse('2026-03-01T12:00:00.000Z')

/**
 * Drives lifecycle, desk and a store with random sequences of commands and clocks, and holds everything that can be seen
 * against the model after each.
 * @throws Error with the shortest sequence that was found to differ, and its seed.
 */
export async function checkModel (make: Make, { seed, runs, length }: CheckOptions): Promise<Checked> {
  const done: Checked = { runs: 0, commands: 0, reopened: 0, events: { enqueued: 0, answered: 0, undone: 0, expired: 0, cancelled: 0 } }
  await fc.assert(fc.asyncProperty(commands(length), async sequence => {
    const real = await Real.open(START, make)
    try {
      const setup = () => ({ model: new QueueModel(START), real })
      const counted = Array.from(sequence, command => ({
        check: () => true,
        toString: () => command.toString(),
        async run (model: QueueModel, real: Real) {
          await command.run(model, real)
          await real.settle(model)
          done.commands++
          if (command.toString() === 'reopen') done.reopened++
        }
      }))
      await fc.asyncModelRun(setup, counted)
      await real.audit()
      for (const { event } of real.heard) done.events[event]++
      done.runs++
    } finally {
      await real.made.drop()
    }
  }), { seed, numRuns: runs, endOnFailure: false })
  return done
}
