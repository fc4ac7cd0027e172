import t from 'tap'
import { checkOrigin, isHostAllowed, isLoopbackAddress, isLoopbackName, isOriginAllowed } from '../../lib/origin'

const own = { port: 8_971, allowedOrigins: ['https://desk.example', 'http://board.local:8080', 'http://[2001:db8::1]:81'] }

t.test('a loopback name can only mean this machine', async t => {
  for (const name of ['localhost', 'localhost.', 'agents.localhost', 'a.b.localhost', '127.0.0.1', '127.255.255.254', '127.0.0.1.', '[::1]', '[::ffff:7f00:1]', '[::ffff:7fff:fffe]']) {
    t.equal(isLoopbackName(name), true, name)
  }
  for (const name of ['', 'localhost.example', 'notlocalhost', 'localhost..', '126.0.0.1', '128.0.0.1', '0.0.0.0', '10.127.0.1', '127.0.0.1.example', '[::]', '[::2]', '[::ffff:8000:1]', '[::ffff:7e00:1]', '[fe80::1]', '::1']) {
    t.equal(isLoopbackName(name), false, name)
  }
})

t.test('a bind address is loopback in any spelling that reaches this machine only', async t => {
  for (const address of ['127.0.0.1', '127.1', '0x7f.1', '2130706433', 'localhost', 'LOCALHOST', '::1', '[::1]', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1']) t.equal(isLoopbackAddress(address), true, address)
  for (const address of ['', '0.0.0.0', '::', '192.168.1.2', 'board.local', '127.0.0.1:80', '127.0.0.1/x', 'user@127.0.0.1', '256.0.0.1', '::ffff:10.0.0.1']) t.equal(isLoopbackAddress(address), false, address)
})

t.test('a Host is ours when it is a loopback name with our port, or the host of an allowed origin', async t => {
  for (const host of ['127.0.0.1:8971', 'localhost:8971', 'LocalHost:8971', 'localhost.:8971', '[::1]:8971', '[0000::0001]:8971', '127.1:8971', '0x7f.0x0.0x0.0x1:8971', '017700000001:8971', '[::ffff:127.0.0.1]:8971',
    'a.localhost:8971', 'desk.example', 'DESK.example:443', 'board.local:8080', '[2001:db8::1]:81']) t.equal(isHostAllowed(host, own), true, host)
  for (const host of [undefined, '', ':8971', '127.0.0.1', 'localhost', '127.0.0.1:8972', '127.0.0.1:80', 'evil.example', 'evil.example:8971', 'desk.example:8971', 'desk.example:444', 'desk.example.evil', 'evil.desk.example',
    'board.local', 'board.local:80', '127.0.0.1:8971 ', ' 127.0.0.1:8971', '127.0.0.1:8971,127.0.0.1:8971', 'a@127.0.0.1:8971', '127.0.0.1:8971/', '127.0.0.1:8971?', '127.0.0.1:8971#', '127.0.0.1\\:8971', '127.0.0.1:89710',
    '0.0.0.0:8971', '[::]:8971', '::1:8971', 'http://127.0.0.1:8971', '127.0.0.1:0x230b', '127.0.0.1:-1', '[::1', 'localhost:8971\u0000']) t.equal(isHostAllowed(host, own), false, JSON.stringify(host))
})

t.test('where we listen on the port of http, a Host may leave it out', async t => {
  for (const host of ['127.0.0.1', 'localhost', '127.0.0.1:80']) t.equal(isHostAllowed(host, { port: 80, allowedOrigins: [] }), true, host)
})

t.test('an Origin is one of ours exactly, or not at all', async t => {
  for (const origin of ['http://127.0.0.1:8971', 'http://localhost:8971', 'http://[::1]:8971', 'http://a.localhost:8971', 'http://127.9.9.9:8971', 'https://desk.example', 'http://board.local:8080', 'http://[2001:db8::1]:81']) {
    t.equal(isOriginAllowed(origin, own), true, origin)
  }
  for (const origin of ['', 'null', 'undefined', '*', '127.0.0.1:8971', 'http://127.0.0.1', 'http://127.0.0.1:8972', 'https://127.0.0.1:8971', 'ws://127.0.0.1:8971', 'http://127.0.0.1:8971/', 'http://127.0.0.1:8971?', 'http://127.0.0.1:8971 ',
    'HTTP://127.0.0.1:8971', 'http://LOCALHOST:8971', 'http://127.1:8971', 'http://user@127.0.0.1:8971', 'http://127.0.0.1:8971, http://127.0.0.1:8971', 'http://127.0.0.1:8971,null',
    'http://desk.example', 'https://desk.example:443', 'https://desk.example:444', 'https://desk.example.evil', 'https://a.desk.example', 'https://DESK.example', 'http://board.local', 'file://', 'chrome-extension://abc', 'data:', 'blob:http://127.0.0.1:8971',
    'vscode-file://vscode-app', 'http://evil.example']) {
    t.equal(isOriginAllowed(origin, own), false, origin)
  }
  t.equal(isOriginAllowed('http://localhost', { port: 80, allowedOrigins: [] }), true)
})

t.test('with nothing allowed only the loopback is ours', async t => {
  t.equal(isOriginAllowed('https://desk.example', { port: 8_971, allowedOrigins: [] }), false)
  t.equal(isHostAllowed('desk.example', { port: 8_971, allowedOrigins: [] }), false)
})

t.test('where no port is ours, a loopback name is neither', async t => {
  const own = { allowedOrigins: ['https://room.example', 'http://127.0.0.1:8787'] }
  for (const origin of ['http://127.0.0.1', 'http://localhost:80', 'http://localhost:8787', 'http://127.0.0.1:0']) t.equal(isOriginAllowed(origin, own), false, origin)
  for (const origin of own.allowedOrigins) t.equal(isOriginAllowed(origin, own), true, origin)
})

t.test('who may come without an Origin is the policy\'s to say, and a foreign one never may', async t => {
  const example = 'https://room.example'
  const own = { allowedOrigins: [example] }
  const refusal = (policy: 'page' | 'strict' | 'spec', origin?: string, site?: string): string | undefined => {
    try {
      checkOrigin(origin, site, { policy, own, example })
      return undefined
    } catch (err) { return (err as Error).message }
  }
  for (const policy of ['page', 'strict', 'spec'] as const) {
    t.equal(refusal(policy, example), undefined)
    for (const origin of ['https://evil.example', 'null', '', `${example}, ${example}`]) t.match(refusal(policy, origin), /is not one of this Ready Room's/)
  }
  t.equal(refusal('page'), undefined)
  t.equal(refusal('spec'), undefined)
  t.match(refusal('strict'), /`Origin: https:\/\/room\.example`/)
  t.match(refusal('page', example, 'cross-site'), /only from the heads-up page itself/)
  t.equal(refusal('page', example, 'same-origin'), undefined)
})
