import t from 'tap'
import { isNewer } from '../../../lib/node/versions'

t.test('the protocol decides, then the version', async t => {
  const release = (version: string, protocol = 1) => ({ version, protocol })
  t.ok(isNewer(release('0.10.0'), release('0.9.9')))
  t.ok(isNewer(release('1.0.0'), release('1.0.0-rc.1')))
  t.ok(isNewer(release('0.1.0', 2), release('9.0.0')))
  t.notOk(isNewer(release('9.0.0'), release('0.1.0', 2)))
  t.notOk(isNewer(release('1.2.3'), release('1.2.3')))
  t.notOk(isNewer(release('1.2.3+build.9'), release('1.2.3')), 'build metadata makes nothing newer')
  t.notOk(isNewer(release('newest'), release('1.2.3')), 'what is no version is not newer')
  t.notOk(isNewer(release('1.2.3'), release('newest')), 'than what is no version nothing is newer')
})
