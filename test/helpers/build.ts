import type { FastifyInstance } from 'fastify'
import { buildApp, type BuildOptions } from '../../app'
import { MemoryTicketStore } from '../../lib/memory-store'
import { START } from './decisions'

/** A wall clock that a test sets. */
export class Clock {
  ms: number

  constructor (ms = START) {
    this.ms = ms
  }

  readonly now = (): number => this.ms

  /** Moves it on, or back, by so many milliseconds. */
  by (ms: number): void {
    this.ms += ms
  }
}

interface Teardown { teardown (close: () => unknown): void }

export type TestOptions = Partial<BuildOptions> & { clock?: Clock }

/** The port of the app's own origin where nothing listens. */
export const PORT = 8_971

/** The whole application on a store in memory, closed with the test. */
export async function build (t: Teardown, { clock = new Clock(), ...options }: TestOptions = {}): Promise<FastifyInstance> {
  const app = await buildApp({
    store: new MemoryTicketStore({ now: clock.now }), version: '0.0.0-test', instance: 'test-instance', port: PORT, now: clock.now, ...options
  })
  t.teardown(() => app.close())
  return app
}

/** The same, listening on a free port of the loopback. */
export async function listen (t: Teardown, options: TestOptions = {}): Promise<{ app: FastifyInstance, port: number, origin: string }> {
  const app = await build(t, options)
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  return { app, port: Number(new URL(origin).port), origin }
}
