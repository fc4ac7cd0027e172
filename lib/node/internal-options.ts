import type { AttachedClients } from './attached'
import type { Config } from './config'
import type { Release } from './versions'

/** What a takeover keeps as it was: a queue that is guarded by a token stays guarded by it, whoever becomes its daemon. */
export type DaemonSettings = Pick<Config,
  'token' | 'bind' | 'port' | 'stateDir' | 'allowedOrigins' | 'originPolicy' | 'trustProxy' | 'frameAncestors' | 'metrics' | 'edge' | 'tools'>

export const settingsOf = (config: DaemonSettings): DaemonSettings => ({
  ...(config.token !== undefined && { token: config.token }),
  bind: config.bind,
  port: config.port,
  stateDir: config.stateDir,
  allowedOrigins: config.allowedOrigins,
  originPolicy: config.originPolicy,
  trustProxy: config.trustProxy,
  frameAncestors: config.frameAncestors,
  metrics: config.metrics,
  edge: config.edge,
  ...(config.tools !== undefined && { tools: config.tools })
})

/** What the daemon's routes for its clients need to know; made by Membership and passed through by whoever builds the app. */
export interface InternalOptions {
  /** The secret of daemon.json. */
  secret: string
  instance: string
  release: Release
  /** ISO 8601. */
  startedAt: string
  settings: DaemonSettings
  lingering: boolean
  clients: AttachedClients
  /** `readyroom stop`: called once the answer is out. */
  onStop (): void
  /** A newer version wants to be the daemon: called once the answer is out. */
  onHandOver (to: Release): void
}
