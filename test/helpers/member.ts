import { pino } from 'pino'
import type { Config } from '../../lib/node/config'
import { EDGE_DEFAULTS } from '../../lib/node/edge-settings'
import { silentLog } from '../../lib/node/log'
import { Membership, type MembershipOptions, type Role } from '../../lib/node/membership'
import { daemonOpener } from '../../server'

interface Teardown { teardown (close: () => unknown): void }

export type MemberOptions = Partial<Omit<Config, 'given'>> & {
  stateDir: string
  port: number
  /** What the person has set, beyond the port. */
  given?: Partial<Config['given']>
  version?: string
  lingerTimings?: NonNullable<MembershipOptions['linger']>
} & Partial<Pick<MembershipOptions, 'timings' | 'successor' | 'predecessor' | 'openDaemon' | 'log' | 'patience'>>

export const configOf = ({ given, ...config }: Omit<MemberOptions, 'version' | 'lingerTimings'>): Config => ({
  command: 'stdio',
  linger: false,
  bind: '127.0.0.1',
  allowedOrigins: [],
  originPolicy: 'strict',
  trustProxy: false,
  frameAncestors: [],
  metrics: false,
  edge: EDGE_DEFAULTS,
  ...config,
  given: { stateDir: false, token: false, bind: false, port: true, ...given }
})

export interface Member { membership: Membership, roles: Role[] }

/** A process's place, without the process: the real app on the real store, in this one. It leaves with the test. */
export function member (
  t: Teardown,
  { version = '1.2.3', timings, lingerTimings, successor, predecessor, openDaemon, log = silentLog, patience, ...config }: MemberOptions
): Member {
  const roles: Role[] = []
  const membership = new Membership({
    config: configOf(config),
    version,
    log,
    openDaemon: openDaemon ?? daemonOpener({ version, log: pino({ level: 'silent' }) }),
    onRole: role => { roles.push(role) },
    timings: { strangerMs: 200, silentMs: 500, startMs: 10_000, refusedMs: 50, ...timings },
    ...(lingerTimings && { linger: lingerTimings }),
    ...(successor && { successor }),
    ...(predecessor && { predecessor }),
    ...(patience && { patience })
  })
  t.teardown(() => membership.leave({ successor: false }))
  return { membership, roles }
}
