import t from 'tap'
import { callKey, equalProofs, newNonce, newSecret, proofOf, responseTag, seal, tokenTag, unseal } from '../../../lib/node/proof'

t.test('secrets and nonces are never the same twice', async t => {
  t.equal(new Set(Array.from({ length: 1_000 }, newSecret)).size, 1_000)
  t.equal(new Set(Array.from({ length: 1_000 }, newNonce)).size, 1_000)
  t.match(newSecret(), /^[0-9a-f]{64}$/)
})

t.test('a proof holds for one secret, nonce, instance and port', async t => {
  const secret = newSecret()
  const proof = proofOf(secret, 'nonce', 'instance', 8971)
  t.ok(equalProofs(proof, proofOf(secret, 'nonce', 'instance', 8971)))
  for (const other of [
    proofOf(newSecret(), 'nonce', 'instance', 8971), proofOf(secret, 'other', 'instance', 8971),
    proofOf(secret, 'nonce', 'other', 8971), proofOf(secret, 'nonce', 'instance', 8972),
    proofOf(secret, 'nonceinstance', '', 8971), ''
  ]) t.notOk(equalProofs(proof, other))
})

t.test('what is made for one purpose passes for no other, and none of it shows the secret', async t => {
  const secret = newSecret()
  const made = [callKey(secret), proofOf(secret, 'n', 'i', 1), responseTag(secret, 'n', 'i', 1, ''), tokenTag(secret, undefined), tokenTag(secret, 'n')]
  t.equal(new Set(made).size, made.length)
  for (const one of made) t.notMatch(one, secret)
})

t.test('a tag holds for one answer to one call', async t => {
  const secret = newSecret()
  const tag = responseTag(secret, 'nonce', '/internal/status', 200, '{}')
  for (const other of [
    responseTag(secret, 'other', '/internal/status', 200, '{}'), responseTag(secret, 'nonce', '/internal/join', 200, '{}'),
    responseTag(secret, 'nonce', '/internal/status', 409, '{}'), responseTag(secret, 'nonce', '/internal/status', 200, '[]')
  ]) t.notOk(equalProofs(tag, other))
})

t.test('no token and an empty one are told apart', async t => {
  const secret = newSecret()
  t.notOk(equalProofs(tokenTag(secret, undefined), tokenTag(secret, '')))
  t.ok(equalProofs(tokenTag(secret, 'a-token'), tokenTag(secret, 'a-token')))
})

t.test('what is sealed is read with the same secret only, and unchanged only', async t => {
  const secret = newSecret()
  const sealed = seal(secret, 'settings', '{"token":"größer"}')
  t.equal(unseal(secret, 'settings', sealed), '{"token":"größer"}')
  t.notMatch(Buffer.from(sealed, 'base64').toString('latin1'), 'token')
  t.not(seal(secret, 'settings', '{"token":"größer"}'), sealed)
  t.throws(() => unseal(newSecret(), 'settings', sealed))
  t.throws(() => unseal(secret, 'request', sealed), 'nor as something else')
  const changed = Buffer.from(sealed, 'base64')
  changed[changed.length - 1]! ^= 1
  t.throws(() => unseal(secret, 'settings', changed.toString('base64')))
  t.throws(() => unseal(secret, 'settings', ''))
})
