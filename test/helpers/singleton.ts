import type { DaemonStatus } from '../../schemas/internal'
import { eventually, type Running, type World } from './process'

export type Status = Partial<DaemonStatus> & { running: boolean }

export const statusOf = async (world: World): Promise<Status> =>
  JSON.parse((await world.run(['status', '--json'])).stdout) as Status

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
