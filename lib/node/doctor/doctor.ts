import type { Check, DoctorReport } from '../../../schemas/doctor'
import { lookAtClients } from './clients'
import { lookAtDaemon, lookAtPort } from './daemon'
import { lookAtEdge } from './edge'
import { lookAtFolder } from './folder'
import { lookAtNode, lookAtSettings, lookAtToken } from './machine'
import { lookFromOutside } from './outside'
import { lookAtRecord } from './record'
import { fail, type Look, type Scene } from './scene'
import { lookAtTokens } from './tokens'

/** What there is to look at, in the order in which a person would; each with the name of what it is about. */
const LOOKS: Array<[id: string, look: Look]> = [
  ['node', lookAtNode], ['settings', lookAtSettings], ['token', lookAtToken], ['edge', lookAtEdge], ['state-folder', lookAtFolder], ['audit', lookAtRecord],
  ['port', lookAtPort], ['daemon', lookAtDaemon], ['clients', lookAtClients], ['tokens', lookAtTokens],
  ['url-reach', lookFromOutside]
]

/** Looks at everything, and changes nothing. What cannot be looked at is a failure like any other, and stops nobody. */
export async function examine (scene: Scene): Promise<DoctorReport> {
  const checks: Check[] = []
  for (const [id, look] of LOOKS) {
    try {
      checks.push(...await look(scene))
    } catch (err) {
      checks.push(fail(id, `This could not be looked at: ${(err as Error).message.replace(/\.$/, '')}.`, 'Run it as the user whose queue it is'))
    }
  }
  return { ok: checks.every(({ status }) => status !== 'fail'), checks }
}
