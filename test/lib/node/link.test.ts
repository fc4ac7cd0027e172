import t from 'tap'
import { PROTOCOL, type DaemonFile } from '../../../lib/node/daemon-file'
import { Link, TAG_HEADER } from '../../../lib/node/link'
import { callKey, newSecret, proofOf } from '../../../lib/node/proof'
import { listenAsDaemon } from '../../helpers/internal'
import { freePort } from '../../helpers/process'
import { squat } from '../../helpers/squatter'

const soon = { timeoutMs: 5_000 }

const fileFor = (port: number, more: Partial<DaemonFile> = {}): DaemonFile =>
  ({ pid: process.pid, port, started_at: '2026-03-01T12:00:00.000Z', instance: 'gone', secret: newSecret(), protocol: PROTOCOL, ...more })

t.test('nobody on the port: refused, and at once', async t => {
  const start = performance.now()
  await t.rejects(Link.prove(fileFor(await freePort()), '127.0.0.1', soon), { name: 'LinkError', failure: 'refused' })
  t.ok(performance.now() - start < 1_000)
})

t.test('a program that fakes the health header and invents a proof is not believed, and learns nothing', async t => {
  const port = await freePort()
  const file = fileFor(port)
  const { heard } = await squat(t, port, () => ({
    headers: { 'x-readyroom': '1.2.3; instance=gone' },
    body: JSON.stringify({ instance: 'gone', port, version: '1.2.3', protocol: PROTOCOL, proof: 'f'.repeat(64) })
  }))
  await t.rejects(Link.prove(file, '127.0.0.1', soon), { name: 'LinkError', failure: 'broken', message: new RegExp(String(port)) })
  t.same(heard.map(({ url }) => url), ['/internal/prove'])
  const sent = JSON.stringify(heard)
  t.notMatch(sent, file.secret)
  t.notMatch(sent, callKey(file.secret))
})

t.test('answers that are no proof at all are not believed either', async t => {
  const port = await freePort()
  const bodies = ['', 'ok', 'null', '[]', '{}', '{"proof":1}', JSON.stringify({ instance: 'gone', port: 1, version: '1', protocol: 1, proof: '' })]
  let body = ''
  await squat(t, port, () => ({ body }))
  for (body of bodies) await t.rejects(Link.prove(fileFor(port), '127.0.0.1', soon), { name: 'LinkError', failure: 'broken' }, JSON.stringify(body))
})

t.test('a proof that is fetched from the real daemon on another port does not pass', async t => {
  const { file, origin } = await listenAsDaemon(t)
  const port = await freePort()
  const answers = new Map<string, string>()
  const { server } = await squat(t, port, (_url, body) => ({ body: answers.get(body) ?? '' }))
  // It hands every question on to the daemon, and the daemon's answer back.
  server.removeAllListeners('request')
  server.on('request', async (req, res) => {
    let body = ''
    for await (const chunk of req) body += chunk
    const real = await fetch(`${origin}/internal/prove`, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    res.end(await real.text())
  })
  await t.rejects(Link.prove({ ...file, port }, '127.0.0.1', soon), { name: 'LinkError', failure: 'broken' })
})

t.test('a daemon of another instance than daemon.json names is not the one', async t => {
  const { file } = await listenAsDaemon(t)
  await t.rejects(Link.prove({ ...file, instance: 'older' }, '127.0.0.1', soon), { name: 'LinkError', failure: 'broken' })
  await t.rejects(Link.prove({ ...file, secret: newSecret() }, '127.0.0.1', soon), { name: 'LinkError', failure: 'broken' })
})

t.test('something that takes connections and says nothing is silent', async t => {
  const port = await freePort()
  await squat(t, port, () => undefined)
  await t.rejects(Link.prove(fileFor(port), '127.0.0.1', { timeoutMs: 50 }), { name: 'LinkError', failure: 'silent' })
})

t.test('whoever takes the port over after the proof can neither answer nor refuse a call, nor read it', async t => {
  const { app, file, port } = await listenAsDaemon(t)
  const link = await Link.prove(file, '127.0.0.1', soon)
  t.teardown(() => link.close())
  await app.close()
  let tag = ''
  const { heard } = await squat(t, port, url => url.includes('tool-call')
    ? { status: 404, headers: { [TAG_HEADER]: tag }, body: '{"error":"TICKET_NOT_FOUND","message":"No."}' }
    : { headers: { [TAG_HEADER]: tag }, body: '{"ticket":{"id":"a","status":"answered","answer":"Grant it all"}}' })
  for (tag of ['', 'f'.repeat(64), callKey(file.secret), proofOf(file.secret, 'n', 'i', port)]) {
    await t.rejects(link.call('POST', '/internal/tool-call', { tool: 'list_pending', agent_token: 'rr_the-token' }, soon), { name: 'LinkError', failure: 'broken' })
    await t.rejects(link.call('GET', '/internal/status', undefined, soon), { name: 'LinkError', failure: 'broken' })
    await t.rejects(link.attach(1, '1.2.3', soon), { name: 'LinkError', failure: 'broken' })
  }
  t.equal(heard.length, 12)
  t.notMatch(JSON.stringify(heard), file.secret)
  t.match(JSON.stringify(heard), /"sealed/)
  t.notMatch(JSON.stringify(heard), /rr_the-token|list_pending/)
})

t.test('a daemon that goes ends its attached clients, and calls fail as lost', async t => {
  const { app, file } = await listenAsDaemon(t)
  const link = await Link.prove(file, '127.0.0.1', soon)
  t.teardown(() => link.close())
  const { ended } = await link.attach(1, '1.2.3', soon)
  await app.close()
  await ended
  await t.rejects(link.call('GET', '/internal/status', undefined, soon), { name: 'LinkError', failure: 'refused' })
})

t.test('a daemon is found whatever this process itself would be bound to', async t => {
  const { file } = await listenAsDaemon(t)
  for (const bind of ['127.0.0.1', '0.0.0.0', '::', '::1', '127.0.0.9', 'localhost']) {
    const link = await Link.prove(file, bind, soon)
    t.equal(link.daemon.instance, 'test-instance', bind)
    link.close()
  }
})
