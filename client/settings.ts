import { createHash } from 'node:crypto'
import { posix, win32 } from 'node:path'

export type Env = Record<string, string | undefined>

export interface Surroundings {
  env: Env
  platform: NodeJS.Platform
  /** The person's home folder. */
  home: string
}

/** Where the room is, and who asks. */
export interface Settings {
  /** Ends in a slash. */
  base: string
  token: string | undefined
  /** Unset, the token's home room. */
  room: string | undefined
  /** Where marks are kept, a folder of the person. */
  folder: string
  /** What marks are kept under: another server, credential or room has marks of its own. Tells nothing of the token. */
  key: string
  /** What the client calls the session of the agent, where it says so. */
  session: string | undefined
}

/** Without a token a call on this machine is the person's: an agent would be told what is the person's, and take it as read. */
export const NO_TOKEN = 'READYROOM_AGENT_TOKEN is not set, so that nobody knows whose news to tell; `readyroom admin add-token` makes one for an agent'

/**
 * What the environment says. A blank value stands for the default.
 * @throws Error whose message names the variable, and never shows a token
 */
export function readSettings ({ env, platform, home }: Surroundings): Settings {
  const text = (name: string): string | undefined => env[name]?.trim() || undefined
  const base = baseOf(text('READYROOM_URL') ?? `http://127.0.0.1:${text('READYROOM_PORT') ?? '8971'}`)
  const token = text('READYROOM_AGENT_TOKEN')
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) throw new Error('READYROOM_AGENT_TOKEN holds a character that cannot stand in a header; copy the token anew.')
  const room = text('READYROOM_ROOM')?.toLowerCase()
  const hash = (...parts: string[]): string => createHash('sha256').update(parts.join('\n')).digest('hex')
  // Claude Code gives it to what an agent starts, from 2.1.132 on.
  const session = text('READYROOM_WATCH_SESSION') ?? text('CLAUDE_CODE_SESSION_ID')
  return { base, token, room, folder: folderOf({ env, platform, home }), key: hash(base, hash(token ?? ''), room ?? '').slice(0, 32), session }
}

function baseOf (text: string): string {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw new Error('READYROOM_URL must be an address such as http://127.0.0.1:8971 or https://desk.example.')
  }
  if (!/^https?:$/.test(url.protocol)) throw new Error('READYROOM_URL must begin with http:// or https://.')
  if (url.username !== '' || url.password !== '') throw new Error('READYROOM_URL may hold no user and no password: the token goes into READYROOM_AGENT_TOKEN.')
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}/`
}

function folderOf ({ env, platform, home }: Surroundings): string {
  const { join, isAbsolute } = platform === 'win32' ? win32 : posix
  const absolute = (name: string): string | undefined => {
    const folder = env[name]?.trim()
    return folder && isAbsolute(folder) ? folder : undefined
  }
  const own = absolute('READYROOM_STATE_DIR')
  if (own !== undefined) return join(own, 'clients')
  if (platform === 'win32') return join(absolute('LOCALAPPDATA') ?? join(home, 'AppData', 'Local'), 'readyroom', 'clients')
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', 'readyroom', 'clients')
  return join(absolute('XDG_STATE_HOME') ?? join(home, '.local', 'state'), 'readyroom', 'clients')
}
