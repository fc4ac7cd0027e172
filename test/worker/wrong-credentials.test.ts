import t from 'tap'
import { networkOf, WrongCredentials } from '../../worker/wrong-credentials'

t.test('an IPv6 address counts as its /64, in whatever spelling; anything else as itself', async t => {
  const table: Array<[string, string]> = [
    ['203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:0001:0002::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1:2:3:4', 'fe80:0:0:0::/64'],
    ['not:an:address', 'not:an:address'],
    ['unknown', 'unknown']
  ]
  for (const [address, network] of table) t.equal(networkOf(address), network, address)
})

t.test('the twenty-first wrong one of an address is too many, until its window is over', async t => {
  let now = 0
  const wrong = new WrongCredentials(() => now)
  for (let n = 0; n < 20; n++) wrong.note('203.0.113.7')
  now = 60_000
  t.throws(() => wrong.note('203.0.113.7'), { code: 'TOO_MANY_REQUESTS', headers: { 'retry-after': '240' } })
  t.doesNotThrow(() => wrong.note('203.0.113.8'))
  now = 299_999
  t.throws(() => wrong.note('203.0.113.7'), { code: 'TOO_MANY_REQUESTS', headers: { 'retry-after': '1' } })
  now = 300_000
  t.doesNotThrow(() => wrong.note('203.0.113.7'))
})

t.test('of more addresses than are remembered the longest unseen is forgotten', async t => {
  const wrong = new WrongCredentials(() => 0)
  for (let n = 0; n < 20; n++) wrong.note('first')
  for (let n = 0; n < 20; n++) wrong.note('second')
  for (let n = 0; n < 4_998; n++) wrong.note(`other ${n}`)
  t.throws(() => wrong.note('first'), { code: 'TOO_MANY_REQUESTS' })
  wrong.note('one more')
  t.doesNotThrow(() => wrong.note('second'), 'it was forgotten')
  t.throws(() => wrong.note('first'), { code: 'TOO_MANY_REQUESTS' })
})
