import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { Desk } from '../lib/desk'
import { AttachedClients } from '../lib/node/attached'
import { readConfig } from '../lib/node/config'
import { FileTicketStore } from '../lib/node/file-store'
import { acquireFolder, type FolderLock } from '../lib/node/folder-lock'
import { settingsOf } from '../lib/node/internal-options'
import { daemonOpener } from '../server'
import { startBroker } from './helpers/broker'
import { testFolder } from './helpers/folder'
import { eventually, freePort } from './helpers/process'

const VERSION = '1.2.3'

function opening (t: Test, dir: string, env: Record<string, string>) {
  const lines: string[] = []
  const log = pino({ level: 'info' }, { write: line => { lines.push(line) } })
  const config = readConfig({ env: { READYROOM_STATE_DIR: dir, ...env } })
  const open = (lock: FolderLock) => daemonOpener({ version: VERSION, log })({
    config,
    lock,
    instance: 'i-1',
    internal: {
      secret: 's'.repeat(64),
      instance: 'i-1',
      release: { version: VERSION, protocol: 1 },
      startedAt: new Date().toISOString(),
      settings: settingsOf(config),
      lingering: false,
      clients: new AttachedClients(),
      onStop () {},
      onHandOver () {}
    }
  })
  return { open, lines }
}

t.test('a daemon is the app on the file store, listening on what was set', async t => {
  const dir = testFolder(t)
  const port = await freePort()
  const { open, lines } = opening(t, dir, { READYROOM_PORT: String(port), READYROOM_TOKEN: 'a-token-of-twenty-six-signs' })
  const daemon = await open(acquireFolder(dir))
  t.equal(daemon.port, port)
  const health = await fetch(`http://127.0.0.1:${port}/healthz`)
  t.equal(health.headers.get('x-readyroom'), `${VERSION}; instance=i-1`)
  t.equal((await fetch(`http://127.0.0.1:${port}/api/tickets`)).status, 401)
  const { id } = await daemon.desk.ask({ stream: 'alpha', question: 'Go on?' })
  const authorization = 'Bearer a-token-of-twenty-six-signs'
  const ticket = await (await fetch(`http://127.0.0.1:${port}/api/tickets/${id}`, { headers: { authorization } })).json()
  t.match(ticket, { id, stream: 'alpha', status: 'pending' })
  t.equal(daemon.presence.isPageOpen(), false)
  t.throws(() => acquireFolder(dir), /another ready room/i)

  await daemon.close()
  await t.rejects(fetch(`http://127.0.0.1:${port}/healthz`))
  acquireFolder(dir).release()
  t.strictSame(lines, [], 'it says nothing by itself')
})

t.test('closing answers the waiters and ends the streams in time', async t => {
  const dir = testFolder(t)
  const port = await freePort()
  const daemon = await opening(t, dir, { READYROOM_PORT: String(port) }).open(acquireFolder(dir))
  const { id } = await daemon.desk.ask({ stream: 'alpha', question: 'Go on?' })
  const waits = Array.from({ length: 20 }, () => daemon.desk.wait(id, { ms: 600_000 }))
  const events = await fetch(`http://127.0.0.1:${port}/api/events`)
  t.equal(daemon.presence.streams, 1)
  const begin = performance.now()
  await daemon.close()
  t.ok(performance.now() - begin < 2_000, `${performance.now() - begin} ms`)
  t.strictSame((await Promise.all(waits)).map(({ status }) => status), Array(20).fill('pending'))
  t.type(await events.text(), 'string')
})

t.test('a port that is taken leaves nothing open', async t => {
  const dir = testFolder(t)
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await t.rejects(opening(t, dir, { READYROOM_PORT: String(port) }).open(acquireFolder(dir)), { code: 'EADDRINUSE' })
  acquireFolder(dir).release()
})

t.test('an address of another machine is refused, and leaves nothing open', async t => {
  const dir = testFolder(t)
  const env = { READYROOM_PORT: String(await freePort()), READYROOM_BIND: '192.0.2.1', READYROOM_TOKEN: 'a-token-of-twenty-six-signs' }
  await t.rejects(opening(t, dir, env).open(acquireFolder(dir)), { code: 'EADDRNOTAVAIL' })
  acquireFolder(dir).release()
})

t.test('a queue that cannot be loaded is refused before anything listens', async t => {
  const dir = testFolder(t)
  const store = new FileTicketStore({ dir, instance: 'i-0' })
  await store.load()
  const desk = await new Desk(store).open()
  for (const question of ['One?', 'Two?', 'Three?']) await desk.ask({ stream: 'alpha', question })
  await store.close()
  const log = join(dir, 'audit.jsonl')
  writeFileSync(log, readFileSync(log, 'utf8').replace('Two?', 'Tow?'))
  rmSync(join(dir, 'tickets.json'))

  const port = await freePort()
  const lock = acquireFolder(dir)
  t.teardown(() => lock.release())
  await t.rejects(opening(t, dir, { READYROOM_PORT: String(port) }).open(lock), { name: 'DamagedLogError', message: /line 2/i })
  await t.rejects(fetch(`http://127.0.0.1:${port}/healthz`))
})

t.test('a broker that is set is told what happens in the rooms, and that Ready Room has ended; its password is in no line of the log', async t => {
  const broker = await startBroker(t)
  const dir = testFolder(t)
  const port = await freePort()
  const { open, lines } = opening(t, dir, {
    READYROOM_PORT: String(port), READYROOM_MQTT_URL: `mqtt://127.0.0.1:${broker.port}`, READYROOM_MQTT_PREFIX: 'rr', READYROOM_MQTT_USER: 'me', READYROOM_MQTT_PASSWORD: 'a-word-for-it'
  })
  const daemon = await open(acquireFolder(dir))
  const posted = await fetch(`http://127.0.0.1:${port}/v1/messages`, {
    method: 'POST', headers: { 'content-type': 'application/json', origin: `http://127.0.0.1:${port}` }, body: JSON.stringify({ body: 'The poller is live' })
  })
  t.equal(posted.status, 200)
  const told = await eventually(() => broker.heard.find(({ topic }) => topic === 'rr/local/message_posted'), 'the message at the broker')
  t.match(JSON.parse(told.text), { room: 'local', kind: 'message_posted', body: 'The poller is live' })
  await daemon.close()
  t.match(broker.heard.at(-1), { topic: 'rr/status', text: 'offline', retain: true })
  t.notMatch(lines.join(''), /a-word-for-it/)
})
