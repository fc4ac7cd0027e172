import type { DaemonStatus, Identity } from '../../schemas/internal'
import type { Config } from './config'
import { RefusedError } from './refused'

// Every way in which a process can be refused a place at the queue, each naming what is at odds and what to do about it.

/** The command that says which program listens on a port. */
export const portFinder = (port: number): string => process.platform === 'win32'
  ? `netstat -ano | findstr :${port}`
  : process.platform === 'darwin' ? `lsof -nP -iTCP:${port} -sTCP:LISTEN` : `ss -ltnp 'sport = :${port}'`

export const portHeldByStranger = (port: number, silent: boolean): RefusedError => new RefusedError(
  `Port ${port} is held by something that is not this Ready Room${silent ? ' or does not answer' : ''}. ` +
  `Find it with "${portFinder(port)}" and stop it, or set READYROOM_PORT to another port, the same for every agent.`)

export const portHeldByOtherUser = (port: number, { version }: Identity): RefusedError => new RefusedError(
  `Port ${port} is held by another user's Ready Room (version ${version}). Set READYROOM_PORT to a port of your own, the same for every agent.`)

export const portHeldByOtherFolder = (port: number, own: string, { state_dir: theirs }: Identity): RefusedError => new RefusedError(
  theirs === undefined
    ? `Port ${port} is held by a Ready Room that keeps its queue in another state folder than ${own}, and does not say in which, since a token guards it. ` +
      'Set READYROOM_STATE_DIR to its folder, or READYROOM_PORT to another port.'
    : `Port ${port} is held by a Ready Room with the state folder ${theirs}; here READYROOM_STATE_DIR is ${own}. ` +
      'Set both to the same folder, or READYROOM_PORT to another port here.')

export const folderReplaced = (port: number, dir: string): RefusedError => new RefusedError(
  `The Ready Room on port ${port} runs on the state folder ${dir}, which has been removed or replaced since. ` +
  `Find it with "${portFinder(port)}", end it, and start again.`)

export const folderHeldOnOtherPort = (dir: string, own: number, theirs: number): RefusedError => new RefusedError(
  `The state folder ${dir} is held by a Ready Room on port ${theirs}; here the port is ${own}. ` +
  'Set READYROOM_PORT to the same port for both, or READYROOM_STATE_DIR to another folder here.')

export const folderHeldInSilence = (dir: string): RefusedError => new RefusedError(
  `The state folder ${dir} is held by a process that does not answer. If it is stopped or hangs, end it: daemon.json in that folder tells its pid and port. ` +
  'Or set READYROOM_STATE_DIR and READYROOM_PORT to others.')

export const daemonTooNew = (port: number, theirs: string, own: string): RefusedError => new RefusedError(
  `The Ready Room on port ${port} is version ${theirs}, which version ${own} cannot work with. Upgrade this one: npx readyroom@latest`)

export const daemonTooOld = (port: number, theirs: string, own: string): RefusedError => new RefusedError(
  `The Ready Room on port ${port} is version ${theirs}, which version ${own} cannot work with, and it did not hand over. Stop it: readyroom stop --port ${port}`)

const remedy = 'Use the same here and there, or end it first with "readyroom stop".'

export const tokenDiffers = (port: number, daemonHasOne: boolean): RefusedError => new RefusedError(
  `READYROOM_TOKEN is set here, and the Ready Room that runs on port ${port} has ${daemonHasOne ? 'another one' : 'none'}. ${remedy}`)

export const bindDiffers = (own: string, { port, bind }: Pick<DaemonStatus, 'port' | 'bind'>): RefusedError => new RefusedError(
  `READYROOM_BIND is ${own} here, and the Ready Room that runs on port ${port} is bound to ${bind}. ${remedy}`)

/** What the operating system said to listening there, as far as that is the person's to change. */
export function cannotListen ({ bind, port }: Config, err: unknown): RefusedError | undefined {
  switch ((err as NodeJS.ErrnoException).code) {
    case 'EACCES': return new RefusedError(
      `Port ${port} may not be used by this user. Set READYROOM_PORT to another one, such as 8971.`)
    case 'EADDRNOTAVAIL': case 'ENOTFOUND': case 'EAI_AGAIN': case 'EAFNOSUPPORT': return new RefusedError(
      `READYROOM_BIND is ${bind}, which is not an address of this machine. Use 127.0.0.1, or 0.0.0.0 for all of its addresses.`)
    default: return undefined
  }
}
