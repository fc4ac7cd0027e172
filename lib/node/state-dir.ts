import { posix, win32 } from 'node:path'

export interface Place {
  platform: NodeJS.Platform
  env: Record<string, string | undefined>
  /** The person's home folder. */
  home: string
}

/**
 * Where a person's queue lives unless they say otherwise: one folder a person, not a project, for clients start servers
 * in project folders, in the home folder and in `/`, and a queue in each would be no queue.
 *
 * @throws Error when there is no home folder and nothing else says where
 */
export function stateDirOf ({ platform, env, home }: Place): string {
  if (platform === 'win32') {
    const local = env['LOCALAPPDATA']
    return win32.join(local && win32.isAbsolute(local) ? local : win32.join(within(home), 'AppData', 'Local'), 'readyroom')
  }
  if (platform === 'darwin') return posix.join(within(home), 'Library', 'Application Support', 'readyroom')
  // A relative path there is to be ignored (XDG Base Directory Specification).
  const state = env['XDG_STATE_HOME']
  return posix.join(state && posix.isAbsolute(state) ? state : posix.join(within(home), '.local', 'state'), 'readyroom')
}

function within (home: string): string {
  if (home === '') throw new Error('There is no home folder.')
  return home
}
