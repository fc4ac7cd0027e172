import type { AdminOutput } from '../../../schemas/admin'
import type { Check } from '../../../schemas/doctor'
import { hashOf } from '../../room/token-book'
import { administer, hasRooms, type RunAdmin } from '../administer'
import { agentTokenIn, refersToAgentToken } from '../clients/agent-token'
import { type Client, CLIENTS } from '../clients/clients'
import { findEntry } from '../clients/edit'
import { SCOPES, type Scope } from '../clients/names'
import { readSettings } from '../clients/settings-file'
import { type Look, ok, type Scene, warn } from './scene'

/** After `admin init`: whether the entries that start Ready Room have a token for their agent, and a live one. */
export const lookAtTokens: Look = async scene => {
  if (!await hasRooms(scene.config)) return []
  return administer(scene.config, async run => {
    if (!(await run('list', {})).initialised) return []
    const checks: Check[] = []
    for (const client of Object.values(CLIENTS)) {
      for (const scope of SCOPES) {
        for (const file of client.files(scope, scene.place)) checks.push(...await lookAt(client, scope, file, scene, run))
      }
    }
    return checks
  })
}

async function lookAt (client: Client, scope: Scope, file: string, { now }: Scene, run: RunAdmin): Promise<Check[]> {
  const entry = entryIn(client, file)
  // What leads elsewhere has a token of there, which nobody knows here.
  if (entry?.['command'] === undefined || refersToAgentToken(entry)) return []
  const id = `token-${client.name}`
  const again = `readyroom setup ${client.name} --write${scope === 'project' ? ' --scope project' : ''}`
  const held = agentTokenIn(entry)
  if (held === undefined) return [warn(id, `The entry of ${client.title} has no token for its agent, which is let in with one only since \`readyroom admin init\` (${file}).`, again)]
  const { tokens: [token] } = await run('list', { sha256: hashOf(held), revoked: true })
  const why = whyDead(token, now())
  return [why === undefined
    ? ok(id, `${client.title} has the token of ${token!.agent}`)
    : warn(id, `The token in the entry of ${client.title} lets nobody in: it ${why} (${file}).`, again)]
}

function whyDead (token: AdminOutput<'list'>['tokens'][number] | undefined, now: number): string | undefined {
  if (token === undefined) return 'is none of this Ready Room'
  if (token.revoked_at !== undefined) return `was revoked at ${token.revoked_at}`
  return token.expires_at !== undefined && now >= Date.parse(token.expires_at) ? `was for use until ${token.expires_at}` : undefined
}

/** A file that cannot be read is named where the entries are looked at. */
function entryIn (client: Client, file: string): Record<string, unknown> | undefined {
  try { return findEntry(client, readSettings(file) ?? '').entry } catch { return undefined }
}
