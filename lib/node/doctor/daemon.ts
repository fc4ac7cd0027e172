import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Check } from '../../../schemas/doctor'
import { askDaemon, type Inspected, inspectDaemon } from '../ask-daemon'
import { type Config, type Flag, variableOf } from '../config'
import { DAEMON_FILE, PROTOCOL, readDaemonFile } from '../daemon-file'
import { EDGE_VARIABLES, edgeEnvironment } from '../edge-settings'
import type { DaemonSettings } from '../internal-options'
import { askPortHolder } from '../port-holder'
import { portFinder, portHeldByOtherFolder, portHeldByOtherUser, portHeldByStranger } from '../refusals'
import { isNewer, releaseOf } from '../versions'
import { fail, type Look, ok, type Scene, warn } from './scene'

export const lookAtPort: Look = async ({ config: { bind, port, stateDir, given }, httpMs, uid }) => {
  const holder = await askPortHolder(bind, port, httpMs)
  if (holder.kind === 'nobody') return [ok('port', `${port} is free`)]
  if (holder.kind !== 'readyroom') return [fail('port', portHeldByStranger(port, holder.kind === 'silent').message, portFinder(port))]
  const { identity } = holder
  if (identity.uid !== uid) return [fail('port', portHeldByOtherUser(port, identity).message, 'READYROOM_PORT=8972, here and in the entries of your clients')]
  const differs = identity.state_dir !== undefined && identity.state_dir !== stateDir
  if (differs && given.stateDir) return [fail('port', portHeldByOtherFolder(port, stateDir, identity).message, `READYROOM_STATE_DIR=${identity.state_dir}`)]
  return [ok('port', `${port} is held by a Ready Room of yours${differs ? `, which keeps its queue in ${identity.state_dir}` : ''}`)]
}

/** Whether daemon.json leads to nobody. */
export const hasStaleFile = async ({ config }: Pick<Scene, 'config'>): Promise<boolean> =>
  existsSync(join(config.stateDir, DAEMON_FILE)) && await askDaemon({ ...config, given: { ...config.given, stateDir: true } }) === undefined

export const lookAtDaemon: Look = async scene => {
  const { config, version } = scene
  let status
  try {
    status = await askDaemon(config)
    if (await hasStaleFile(scene)) {
      const what = readDaemonFile(config.stateDir) === undefined ? 'cannot be read' : 'leads to a process that is gone'
      return [ok('daemon', status === undefined ? 'none runs; the first agent starts it' : `version ${status.version}, pid ${status.pid}`),
        warn('daemon-file', `${join(config.stateDir, DAEMON_FILE)} ${what}. It does no harm.`, 'readyroom doctor --fix')]
    }
  } catch (err) {
    return [fail('daemon', (err as Error).message, portFinder(config.port))]
  }
  if (status === undefined) return [ok('daemon', 'none runs; the first agent starts it')]
  const own = releaseOf(version)
  const who = `version ${status.version}, pid ${status.pid}`
  if (isNewer(own, status)) {
    return [warn('daemon', `The daemon is ${who}; this is ${version}. The next agent of this version takes over from it.`, 'readyroom stop'), ...await settings(scene, status.protocol)]
  }
  if (isNewer(status, own)) {
    const message = `The daemon is ${who}; this is the older ${version}${status.protocol > own.protocol ? ', which cannot work with it' : ''}.`
    return [(status.protocol > own.protocol ? fail : warn)('daemon', message, 'npx readyroom@latest, or npm install -g readyroom@latest'), ...await settings(scene, status.protocol)]
  }
  return [ok('daemon', `${who}${status.lingering ? ', left behind by its agent for what is still pending' : ''}`), ...await settings(scene, status.protocol)]
}

const REFUSED: Flag[] = ['token', 'bind', 'port', 'state-dir']

async function settings ({ config, flags, place: { env } }: Scene, protocol: number): Promise<Check[]> {
  // How it is asked may differ from one protocol to the next.
  if (protocol !== PROTOCOL) return []
  const inspected = await inspectDaemon(config)
  if (inspected === undefined) return []
  const isSet = (flag: Flag): boolean => (flags[flag] ?? env[variableOf(flag)] ?? '').trim() !== ''
  const differing = FIELDS.filter(([flag, field]) => isSet(flag) && JSON.stringify(config[field]) !== JSON.stringify(inspected.settings[field]))
  // A daemon of an older release has none of them.
  const { edge } = inspected.settings as Partial<typeof inspected.settings>
  const [mine, its] = [edgeEnvironment(config.edge), edge && edgeEnvironment(edge)]
  const elsewise = its === undefined ? [] : EDGE_VARIABLES.filter(name => (env[name] ?? '').trim() !== '' && mine[name] !== its[name])
  if (differing.length === 0 && elsewise.length === 0) return [ok('daemon-settings', 'the daemon runs with what is set here')]
  return elsewise.map(name => warn('daemon-settings',
    `${name} is set here to something else than the daemon runs with: ${mine[name]} here, ${its![name] || 'nothing'} there. It changes when the daemon is started anew.`,
    'readyroom stop, then start it with what is set here')).concat(differing.map(([flag, field]) => {
    const message = `${variableOf(flag)} is set here to something else than the daemon runs with${flag === 'token' ? '' : `: ${say(config[field])} here, ${say(inspected.settings[field])} there`}.`
    return REFUSED.includes(flag)
      ? fail('daemon-settings', `${message} An agent that is started so is refused.`, remedy(inspected, flag))
      : warn('daemon-settings', `${message} It changes when the daemon is started anew.`, remedy(inspected, flag))
  }))
}

const FIELDS: Array<[Flag, keyof DaemonSettings & keyof Config]> = [
  ['token', 'token'], ['bind', 'bind'], ['port', 'port'], ['state-dir', 'stateDir'], ['allowed-origins', 'allowedOrigins'],
  ['origin-policy', 'originPolicy'], ['trust-proxy', 'trustProxy'], ['frame-ancestors', 'frameAncestors'], ['metrics', 'metrics']
]

const say = (value: unknown): string => value === undefined || (Array.isArray(value) && value.length === 0) ? 'nothing' : Array.isArray(value) ? value.join(', ') : String(value)

const remedy = ({ settings: { port } }: Inspected, flag: Flag): string => flag === 'port' ? `READYROOM_PORT=${port}` : 'readyroom stop, then start it with what is set here'
