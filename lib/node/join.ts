import type { DaemonStatus, JoinReply } from '../../schemas/internal'
import { ReadyroomError } from '../errors'
import type { Config } from './config'
import type { DaemonSettings } from './internal-options'
import type { Attachment, Link } from './link'
import { equalProofs, tokenTag, unseal } from './proof'
import { bindDiffers, daemonTooNew, daemonTooOld, folderHeldOnOtherPort, tokenDiffers } from './refusals'
import { isNewer, releaseOf } from './versions'

const CALL_MS = 5_000

export interface Joined {
  link: Link
  attachment: Attachment
  status: DaemonStatus
  /** What this process would be the daemon with: the settings of the one it has joined. */
  config: Config
}

/** An older daemon makes room; whoever is the daemon next keeps its settings. */
export interface HandedOver { handedOver: Config }

/**
 * Becomes a client of a daemon that has proved itself, unless it is at odds with what the person has set here. An older
 * daemon is asked to hand over instead, and is then soon gone.
 * @throws RefusedError, LinkError
 */
export async function joinDaemon (link: Link, { config, version }: { config: Config, version: string }): Promise<Joined | HandedOver> {
  const { daemon } = link
  const own = releaseOf(version)
  try {
    if (daemon.port !== config.port) throw folderHeldOnOtherPort(config.stateDir, config.port, daemon.port)
    if (daemon.protocol > own.protocol) throw daemonTooNew(daemon.port, daemon.version, version)
    if (daemon.protocol < own.protocol) {
      if (!await handsOver(link, version)) throw daemonTooOld(daemon.port, daemon.version, version)
      link.close()
      return { handedOver: config }
    }

    const { status, token_tag: tag, sealed } = await link.call<JoinReply>('GET', '/internal/join', undefined, { timeoutMs: CALL_MS })
    if (config.given.token && !equalProofs(tag, tokenTag(link.file.secret, config.token))) {
      throw tokenDiffers(status.port, status.token_set)
    }
    if (config.given.bind && config.bind !== status.bind) throw bindDiffers(config.bind, status)
    const { token: _own, ...rest } = config
    const kept = { ...rest, ...JSON.parse(unseal(link.file.secret, 'settings', sealed)) as DaemonSettings }
    if (isNewer(own, daemon) && await handsOver(link, version)) {
      link.close()
      return { handedOver: kept }
    }
    return { link, attachment: await link.attach(process.pid, version, { timeoutMs: CALL_MS }), status, config: kept }
  } catch (err) {
    link.close()
    throw err
  }
}

/** Whether the daemon has agreed to make room for this version. */
async function handsOver (link: Link, version: string): Promise<boolean> {
  try {
    await link.call('POST', '/internal/hand-over', releaseOf(version), { timeoutMs: CALL_MS })
    return true
  } catch (err) {
    if (err instanceof ReadyroomError) return false
    throw err
  }
}
