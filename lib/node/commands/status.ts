import type { DaemonStatus } from '../../../schemas/internal'
import { pageUrl } from '../config'
import { type Output, table } from '../output'

export interface StatusOptions {
  /** What the daemon says of itself, or undefined where none runs. */
  askDaemon: () => Promise<DaemonStatus | undefined>
  json: boolean
  out: Output
}

/** Says what runs. Exit code 0 where a daemon does, 1 where none does. */
export async function status ({ askDaemon, json, out }: StatusOptions): Promise<number> {
  const daemon = await askDaemon()
  if (json) {
    await out.write(`${JSON.stringify(daemon === undefined ? { running: false } : { running: true, page: pageUrl(daemon), ...daemon })}\n`)
  } else {
    await out.write(daemon === undefined ? 'No Ready Room is running.\n' : readable(daemon))
  }
  return daemon === undefined ? 1 : 0
}

function readable (daemon: DaemonStatus): string {
  const { pid, version, pending, waiting, pages, clients, lingering, rooms } = daemon
  return `Ready Room ${version} is running.\n\n` + table([
    ['page', pageUrl(daemon)],
    ['pid', `${pid}, since ${daemon.started_at}`],
    ['port', `${daemon.port} on ${daemon.bind}, ${daemon.token_set ? 'with a token' : 'no token'}`],
    ['folder', daemon.state_dir],
    ['pending', `${count(pending, 'ticket')}; ${count(waiting, 'call')} of wait_for_answer under way`],
    ['pages', `${count(pages, 'page')} open`],
    ['clients', clients.length === 0 ? 'none attached' : `${clients.length} attached: ${clients.map(client => nameOf(client, version)).join(', ')}`],
    rooms && ['rooms', `${count(rooms.rooms, 'room')}, ${count(rooms.tokens, 'token')}, ${count(rooms.agents, 'agent')}`],
    rooms && ['attention', `${count(rooms.wakeups, 'wake-up')} and ${count(rooms.injections, 'injected turn')} today`],
    lingering ? ['lingering', 'yes: its agent has left, and it ends by itself when nothing waits any more'] : undefined
  ])
}

const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`

const nameOf = (client: DaemonStatus['clients'][number], version: string): string =>
  `pid ${client.pid}${client.version === version ? '' : ` (version ${client.version})`}`
