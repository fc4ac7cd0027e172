import t from 'tap'
import { authenticate, tooManyWrong } from '../../lib/credential'
import { OWNER } from '../../lib/principal'

const TOKEN = 'a-token-of-forty-characters-0123456789ab'

t.test('the right token is the owner, and nothing is noted', async t => {
  const noted: string[] = []
  t.equal(await authenticate(`Bearer ${TOKEN}`, TOKEN, () => { noted.push('wrong') }), OWNER)
  t.strictSame(noted, [])
})

t.test('a wrong token is noted before it is refused; none at all is not', async t => {
  const noted: string[] = []
  const note = async (): Promise<void> => { noted.push('wrong') }
  const unauthorized = { code: 'UNAUTHORIZED', headers: { 'www-authenticate': 'Bearer realm="readyroom"' } }
  for (const header of [undefined, null, '', TOKEN, `Basic ${TOKEN}`, 'Bearer']) {
    await t.rejects(authenticate(header, TOKEN, note), { ...unauthorized, message: /^A token is needed/ })
  }
  t.strictSame(noted, [])
  await t.rejects(authenticate(`Bearer ${TOKEN}x`, TOKEN, note), { ...unauthorized, message: /^This is not the token/ })
  t.strictSame(noted, ['wrong'])
})

t.test('what the count of wrong ones throws is what the caller gets', async t => {
  const refused = authenticate('Bearer guess', TOKEN, () => { throw tooManyWrong(17) })
  await t.rejects(refused, { code: 'TOO_MANY_REQUESTS', headers: { 'retry-after': '17' }, message: /try again in 17 seconds/ })
})
