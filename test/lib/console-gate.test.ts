import t from 'tap'
import { isAtHome, isPrivateAddress, type ConsoleCaller, type ConsolePlace } from '../../lib/console-gate'

const NOWHERE: ConsolePlace = { publicHosts: [], publicUrl: '', lanUrl: '' }
const LOCAL: ConsoleCaller = { addresses: ['127.0.0.1'], hosts: ['127.0.0.1:8971'], headers: ['host', 'accept', 'user-agent'], forwarded: false }

const at = (caller: Partial<ConsoleCaller>, place: Partial<ConsolePlace> = {}): boolean => isAtHome({ ...LOCAL, ...caller }, { ...NOWHERE, ...place })

t.test('addresses of this machine and of private networks are at home, every other is not', async t => {
  const home = ['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1', '::ffff:192.168.1.4', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.0.9', '169.254.1.1', 'fd00::1', 'fc12::9', 'fe80::1%eth0', 'febf::1']
  const away = ['', '8.8.8.8', '172.15.0.1', '172.32.0.1', '192.169.0.1', '100.64.0.1', '11.0.0.1', '::', '2001:db8::1', 'fec0::1', '::ffff:8.8.8.8', '0.0.0.0', '10.evil.example', 'unknown']
  for (const address of home) t.equal(isPrivateAddress(address), true, address)
  for (const address of away) t.equal(isPrivateAddress(address), false, address)
})

t.test('whoever comes from outside finds nothing, whatever name they ask for', async t => {
  t.equal(at({}), true)
  t.equal(at({ addresses: ['203.0.113.5'] }), false)
  t.equal(at({ addresses: [] }), false)
  t.equal(at({ addresses: ['192.168.1.2', '203.0.113.5'], forwarded: true }), false, 'a trusted proxy that speaks for somebody outside')
})

t.test('only a name of this machine or of the network around it leads to a console', async t => {
  for (const host of ['localhost:8971', 'desk.localhost', '[::1]:8971', '192.168.1.5:8971', '10.1.2.3', '[fd00::5]:8971', 'raspberrypi:8971', 'desk.local', 'desk.lan:8971', 'desk.home.arpa', 'a.internal', 'LOCALHOST.']) {
    t.equal(at({ hosts: [host] }), true, host)
  }
  for (const host of [undefined, '', 'desk.example', 'desk.example:8971', '8.8.8.8', '[2001:db8::1]', 'local', 'desk.local.example', 'a,b', 'desk.local/x', 'evil.com#.local', 'desk.local@evil.com'].filter(host => host !== 'local')) {
    t.equal(at({ hosts: [host] }), false, String(host))
  }
  t.equal(at({ hosts: ['127.0.0.1:8971', 'desk.example'] }), false, 'each of several names counts')
  t.equal(at({ hosts: ['desk.example:8971'] }, { lanUrl: 'http://desk.example:8971' }), true, 'a name that was configured for the network')
})

t.test('a public name leads nowhere, though it would be one of the network', async t => {
  t.equal(at({ hosts: ['raspberrypi'] }, { publicHosts: ['raspberrypi'] }), false)
  t.equal(at({ hosts: ['raspberrypi:8971'] }, { publicHosts: ['raspberrypi:*'] }), false)
  t.equal(at({ hosts: ['raspberrypi:8443'] }, { publicHosts: ['raspberrypi:8443'] }), false)
  t.equal(at({ hosts: ['raspberrypi'] }, { publicHosts: ['raspberrypi:8443'] }), false, 'without a port it may be any')
  t.equal(at({ hosts: ['raspberrypi:8971'] }, { publicHosts: ['raspberrypi:8443'] }), true)
  t.equal(at({ hosts: ['desk.lan:8971'] }, { publicUrl: 'https://desk.lan/ready' }), false)
  t.equal(at({ hosts: ['desk.lan.'] }, { publicUrl: 'https://desk.lan' }), false)
  t.equal(at({ hosts: ['desk.lan'] }, { publicUrl: 'https://desk.lan', lanUrl: 'http://desk.lan' }), false, 'public goes before the network')
})

t.test('a forwarding header means that somebody stands between, unless a trusted proxy does', async t => {
  for (const header of ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-anything', 'x-real-ip']) {
    t.equal(at({ headers: ['host', header] }), false, header)
    t.equal(at({ headers: ['host', header], addresses: ['127.0.0.1', '192.168.1.7'], forwarded: true }), true, `${header}, trusted`)
  }
  for (const header of ['cf-connecting-ip', 'cf-ray', 'cdn-loop', 'true-client-ip', 'x-client-ip', 'x-cluster-client-ip', 'x-original-host']) {
    t.equal(at({ headers: ['host', header] }), false, header)
    t.equal(at({ headers: ['host', header], addresses: ['127.0.0.1', '192.168.1.7'], forwarded: true }), false, `${header} has come from further away than any proxy of the network`)
  }
  t.equal(at({ headers: ['host', 'x-forwarder', 'cfx', 'viaduct'] }), true)
})
