import t from 'tap'
import { Identity } from '../../lib/identity'
import { OWNER, type Role } from '../../lib/principal'
import { hashOf, newToken, TokenBook } from '../../lib/room/token-book'

const SECRET = 'the-secret-of-the-owner'
const nobodyCounts = (): void => {}

function bookOf (...roles: Array<[role: Role, everywhere?: boolean]>): { tokens: TokenBook, minted: string[] } {
  const tokens = new TokenBook()
  tokens.initialised = true
  const minted = roles.map(([role, everywhere = false], at) => {
    const token = newToken()
    tokens.add({ id: at + 1, agent: role, role, home: 'main', rooms: ['annex'], all_rooms: everywhere, created_at: '2026-12-01T00:00:00.000Z', hash: hashOf(token) })
    return token
  })
  return { tokens, minted }
}

t.test('where no token is set and none was minted, whoever reaches it is the owner', async t => {
  const identity = new Identity({ tokens: new TokenBook() })
  t.ok(identity.isOpen)
  t.equal(await identity.ofRequest(undefined, nobodyCounts), OWNER)
  t.equal(identity.ofAgent(undefined), OWNER)
})

t.test('after admin init nobody gets in without a credential, an agent of this machine neither', async t => {
  const identity = new Identity(bookOf())
  t.notOk(identity.isOpen)
  await t.rejects(identity.ofRequest(undefined, nobodyCounts), { code: 'UNAUTHORIZED' })
  t.throws(() => identity.ofAgent(undefined), { code: 'UNAUTHORIZED', message: /READYROOM_AGENT_TOKEN.*readyroom setup/ })
})

t.test('a wrong credential is counted, none at all is not', async t => {
  const identity = new Identity({ token: SECRET, ...bookOf() })
  let wrong = 0
  await t.rejects(identity.ofRequest('Bearer nothing-of-ours', () => wrong++), { code: 'UNAUTHORIZED' })
  await t.rejects(identity.ofRequest(undefined, () => wrong++), { code: 'UNAUTHORIZED' })
  t.equal(wrong, 1)
  t.equal(await identity.ofRequest(`Bearer ${SECRET}`, () => wrong++), OWNER)
  t.equal(wrong, 1)
})

t.test('each role may do what it is for, and no agent answers a ticket', async t => {
  const { tokens, minted } = bookOf(['agent'], ['observer'], ['approver'], ['admin'], ['admin', true])
  const identity = new Identity({ tokens })
  const scopes = minted.map(token => identity.ofAgent(token).scopes)
  t.strictSame(scopes, [
    ['tickets:ask', 'tickets:read', 'room:read', 'room:write'],
    ['tickets:read', 'room:read'],
    ['tickets:read', 'tickets:answer', 'room:read', 'room:write'],
    ['tickets:ask', 'tickets:read', 'room:read', 'room:write', 'room:admin'],
    ['tickets:ask', 'tickets:read', 'room:read', 'room:write', 'room:admin', 'server:admin']
  ])
  t.strictSame(minted.map(token => identity.ofAgent(token).rooms), [...Array(4).fill(['main', 'annex']), 'all'])
})

t.test('a token counts until its time is over or it is revoked, from that instant on', async t => {
  const { tokens, minted: [token = ''] } = bookOf(['agent'])
  const clock = { at: Date.parse('2026-12-01T00:00:00.000Z') }
  const identity = new Identity({ tokens, now: () => clock.at })
  const short = newToken()
  tokens.add({ id: 9, agent: 'bob', role: 'agent', home: 'main', rooms: [], all_rooms: false, created_at: '2026-12-01T00:00:00.000Z', expires_at: '2026-12-01T00:00:10.000Z', hash: hashOf(short) })
  const bob = identity.ofAgent(short)
  clock.at += 9_999
  t.ok(identity.isLive(bob))
  clock.at += 1
  t.notOk(identity.isLive(bob))
  t.throws(() => identity.ofAgent(short), { code: 'UNAUTHORIZED', message: /not one any more/ })

  const agent = identity.ofAgent(token)
  const heard: number[] = []
  const stop = identity.onRevoked(ids => heard.push(...ids))
  tokens.revoke([1])
  t.notOk(identity.isLive(agent))
  t.throws(() => identity.ofAgent(token), { code: 'UNAUTHORIZED' })
  stop()
  tokens.revoke([9])
  t.strictSame(heard, [1])
  t.ok(identity.isLive(OWNER))
})
