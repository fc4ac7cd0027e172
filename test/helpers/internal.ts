import { AttachedClients } from '../../lib/node/attached'
import { PROTOCOL, type DaemonFile } from '../../lib/node/daemon-file'
import { EDGE_DEFAULTS } from '../../lib/node/edge-settings'
import type { InternalOptions } from '../../lib/node/internal-options'
import { newSecret } from '../../lib/node/proof'
import { listen, PORT, type TestOptions } from './build'

interface Teardown { teardown (close: () => unknown): void }

/** What the daemon's routes need to know, as Membership would give it. */
export function internalOptions (more: Partial<InternalOptions> = {}): InternalOptions {
  return {
    secret: newSecret(),
    instance: 'test-instance',
    release: { version: '1.2.3', protocol: PROTOCOL },
    startedAt: '2026-03-01T12:00:00.000Z',
    settings: {
      bind: '127.0.0.1',
      port: PORT,
      stateDir: '/state',
      allowedOrigins: [],
      originPolicy: 'strict',
      trustProxy: false,
      frameAncestors: [],
      metrics: false,
      edge: EDGE_DEFAULTS
    },
    lingering: false,
    clients: new AttachedClients(),
    onStop () {},
    onHandOver () {},
    ...more
  }
}

/** A daemon on a store in memory that listens, and the daemon.json that leads to it. */
export async function listenAsDaemon (t: Teardown, more: Partial<InternalOptions> = {}, options: TestOptions = {}) {
  const internal = internalOptions(more)
  const { app, port, origin } = await listen(t, { internal, token: internal.settings.token, ...options })
  const file: DaemonFile = {
    pid: process.pid, port, started_at: internal.startedAt, instance: internal.instance, secret: internal.secret, protocol: PROTOCOL
  }
  return { app, port, origin, internal, file, desk: app.readyroom.desk }
}
