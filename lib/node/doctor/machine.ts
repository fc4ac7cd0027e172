import gte from 'semver/functions/gte.js'
import { CLIENT_VARIABLES } from '../../../client/variables'
import type { Check } from '../../../schemas/doctor'
import { tokenWarning } from '../../settings'
import { checkReach, FLAGS, variableOf } from '../config'
import { EDGE_VARIABLES } from '../edge-settings'
import { fail, type Look, ok, warn } from './scene'

/** As the package says; the lock of the state folder needs it. */
const OLDEST_NODE = '22.13.0'

export const lookAtNode: Look = ({ nodeVersion }) => [gte(nodeVersion, OLDEST_NODE)
  ? ok('node', `Node ${nodeVersion}`)
  : fail('node', `Node ${nodeVersion} is too old: Ready Room needs ${OLDEST_NODE} or newer.`, 'Install the current Node from https://nodejs.org')]

/** Every variable that some part of Ready Room reads on this machine. */
export const VARIABLES: readonly string[] = [...new Set([...FLAGS.map(variableOf), 'READYROOM_TOOLS', ...EDGE_VARIABLES, ...CLIENT_VARIABLES])]

export const lookAtSettings: Look = ({ faults, place: { env } }) => {
  const known = new Set(VARIABLES)
  const unknown = Object.keys(env).filter(name => name.startsWith('READYROOM_') && !name.startsWith('READYROOM_TEST_') && !known.has(name))
  const checks: Check[] = faults.map(fault => fail('settings', fault, 'Change or unset it, here and in the entries of your clients'))
  if (unknown.length > 0) {
    checks.push(warn('settings', `${unknown.join(', ')} ${unknown.length === 1 ? 'is no setting' : 'are no settings'} of Ready Room, and does nothing.`,
      `The settings are: ${VARIABLES.join(', ')}`))
  }
  return checks.length > 0 ? checks : [ok('settings', 'every READYROOM_ variable can be read')]
}

export const lookAtToken: Look = ({ config }) => {
  const remedy = 'Set READYROOM_TOKEN to the output of: openssl rand -base64 32'
  try {
    checkReach(config)
  } catch (err) {
    return [fail('token', (err as Error).message, remedy)]
  }
  if (config.token === undefined) return [ok('token', 'none, and none is needed: only this machine can reach it')]
  const weak = tokenWarning(config.token)
  return [weak === undefined ? ok('token', 'set, and long enough') : warn('token', weak, remedy)]
}
