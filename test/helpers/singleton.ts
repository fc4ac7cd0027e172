import type { DaemonStatus } from '../../schemas/internal'
import { eventually, type Running, type World } from './process'

export type Status = Partial<DaemonStatus> & { running: boolean }

export async function statusOf (world: World): Promise<Status> {
  const { stdout, stderr, code, signal } = await world.run(['status', '--json'])
  if (stdout === '') throw new Error(`status ended with ${code ?? signal} and said: ${stderr}`)
  return JSON.parse(stdout) as Status
}

/** An agent whose process is up and has spoken. */
export async function startAgent (world: World, cwd: string, env: Record<string, string> = {}): Promise<Running> {
  const running = world.start([], { cwd, env })
  await running.initialize()
  return running
}

/** Resolves with the status once it is what is waited for. */
export const untilStatus = async (world: World, isIt: (status: Status) => boolean, what: string): Promise<Status> =>
  eventually(async () => {
    const status = await statusOf(world)
    return isIt(status) ? status : undefined
  }, what)
