import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import t from 'tap'
import { administer } from '../../../../lib/node/administer'
import { CLIENTS } from '../../../../lib/node/clients/clients'
import { putEntry } from '../../../../lib/node/clients/edit'
import type { ClientName } from '../../../../lib/node/clients/names'
import type { TokenUse } from '../../../../lib/node/clients/way'
import type { Scene } from '../../../../lib/node/doctor/scene'
import { complaints, healthy } from '../../../helpers/scene'

const NONE: TokenUse = { kind: 'none' }

function tell ({ place }: Scene, name: ClientName, token: TokenUse): void {
  const file = CLIENTS[name].files('user', place)[0]!
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, putEntry(CLIENTS[name], '', { kind: 'stdio', command: process.execPath, args: [], env: {}, token, fetched: false }))
}

t.test('where nobody has a token, none is missed, and no rooms are made', async t => {
  const { scene } = await healthy(t)
  tell(scene, 'claude', NONE)
  t.strictSame(await complaints(scene), [])
})

t.test('after admin init an entry without a token, and one with a dead token, are named with what mends them', async t => {
  const { scene } = await healthy(t)
  const [live, revoked] = await administer(scene.config, async run => {
    await run('init', {})
    const tokens = [await run('add-token', { agent: 'ann', room: 'main' }), await run('add-token', { agent: 'bob', room: 'main' })]
    await run('revoke', { agent: 'bob' })
    return tokens.map(({ token }) => token)
  })
  const inline = (token: string): TokenUse => ({ kind: 'inline', variable: 'READYROOM_AGENT_TOKEN', token })
  tell(scene, 'claude', NONE)
  tell(scene, 'codex', inline(live!))
  tell(scene, 'gemini', inline(revoked!))
  tell(scene, 'cursor', inline(`rr_${'x'.repeat(43)}`))
  tell(scene, 'vscode', { kind: 'reference', variable: 'READYROOM_AGENT_TOKEN' })
  const said = (await complaints(scene)).filter(line => line.startsWith('warn token-'))
  t.match(said, [
    /^warn token-claude: .*has no token for its agent.* -> readyroom setup claude --write$/,
    /^warn token-gemini: .*lets nobody in: it was revoked at .* -> readyroom setup gemini --write$/,
    /^warn token-cursor: .*it is none of this Ready Room.* -> readyroom setup cursor --write$/
  ])
  t.equal(said.length, 3)
  t.notMatch(said.join(''), revoked!)
})
