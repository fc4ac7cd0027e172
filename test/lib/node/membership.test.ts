import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { askDaemon, stopDaemon } from '../../../lib/node/ask-daemon'
import { DAEMON_FILE, PROTOCOL, readDaemonFile, type DaemonFile } from '../../../lib/node/daemon-file'
import { acquireFolder } from '../../../lib/node/folder-lock'
import { newSecret } from '../../../lib/node/proof'
import { daemonOpener } from '../../../server'
import { testFolder } from '../../helpers/folder'
import { configOf, member } from '../../helpers/member'
import { eventually, freePort } from '../../helpers/process'
import { squat, type Squatter } from '../../helpers/squatter'

const ask = { stream: 'agent', question: 'Ship it?' }
const TOKEN = 'a-token-that-nobody-guesses'
const OTHER = 'another-token-nobody-guesses'

const place = async (t: { testdir (): string }) => ({ stateDir: t.testdir(), port: await freePort() })

t.test('the first is the daemon, the next its client, and both see the same tickets', async t => {
  const at = await place(t)
  const first = member(t, at)
  const second = member(t, at)
  t.equal(await first.membership.start(), 'daemon')
  t.equal(await second.membership.start(), 'client')
  t.same([first.roles, second.roles], [['daemon'], ['client']])
  t.same(second.membership.daemon, { ...second.membership.daemon, ...first.membership.daemon })

  const { id } = await second.membership.ask(ask)
  t.match(await first.membership.pending(), { tickets: [{ id }] })
  t.equal((await first.membership.wait(id, { ms: 0 })).status, 'pending')
  t.equal((await second.membership.cancel(id)).status, 'cancelled')
  t.match(readDaemonFile(at.stateDir), { pid: process.pid, port: at.port, protocol: PROTOCOL })
})

t.test('calls made before there is a place are answered once there is', async t => {
  const { membership } = member(t, await place(t))
  const asked = membership.ask(ask)
  await membership.start()
  t.match(await asked, ask)
})

t.test('twenty at one instant: one daemon, nineteen clients, and none fails', async t => {
  const at = await place(t)
  const members = Array.from({ length: 20 }, () => member(t, at))
  const roles = await Promise.all(members.map(({ membership }) => membership.start()))
  t.equal(roles.filter(role => role === 'daemon').length, 1)
  t.equal(roles.filter(role => role === 'client').length, 19)
  await Promise.all(members.map(({ membership }, i) => membership.ask({ ...ask, stream: `agent ${i}` })))
  t.equal((await askDaemon(configOf(at)))?.pending, 20)
  t.equal((await askDaemon(configOf(at)))?.clients.length, 19)
})

t.test('a wait goes on when the daemon leaves, on the next one, which was a client', async t => {
  const at = await place(t)
  const first = member(t, at)
  await first.membership.start()
  const others = Array.from({ length: 5 }, () => member(t, at))
  await Promise.all(others.map(({ membership }) => membership.start()))
  const { id } = await others[0]!.membership.ask(ask)
  const waits = others.map(({ membership }) => membership.wait(id, { ms: 60_000 }))
  await eventually(async () => (await askDaemon(configOf(at)))?.waiting === 5 || undefined, 'five waits')

  const start = performance.now()
  await first.membership.leave({ successor: false })
  await eventually(async () => {
    const status = await askDaemon(configOf(at))
    return (status?.waiting === 5 && status.clients.length === 4) || undefined
  }, 'five waits on the next daemon')
  t.comment(`took over in ${Math.round(performance.now() - start)} ms`)
  t.ok(performance.now() - start < 5_000)

  const { origin } = new URL(`http://127.0.0.1:${at.port}`)
  const answered = await fetch(`${origin}/api/answer`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ id, answer: 'yes' })
  })
  t.equal(answered.status, 200)
  for (const ticket of await Promise.all(waits)) t.match(ticket, { status: 'answered', answer: 'yes' })
  t.equal(others.filter(({ membership }) => membership.role === 'daemon').length, 1)
})

t.test('daemon.json that says nothing, or what is no longer so, is stale', async t => {
  const stranger = await squat(t, 0, () => ({ body: '{}' }))
  const gone: DaemonFile = {
    pid: process.ppid, port: await freePort(), started_at: '2026-03-01T12:00:00.000Z', instance: 'gone', secret: newSecret(), protocol: PROTOCOL
  }
  for (const [name, content] of Object.entries({
    '0 bytes': '',
    'the word null': 'null',
    'half an object': JSON.stringify(gone).slice(0, 50),
    'a pid that is text': JSON.stringify({ ...gone, pid: '4711' }),
    'a pid that lives and is another program\'s': JSON.stringify(gone),
    'a port that is another program\'s by now': JSON.stringify({ ...gone, port: stranger.port })
  })) {
    const at = await place(t)
    writeFileSync(join(at.stateDir, DAEMON_FILE), content)
    const { membership } = member(t, at)
    t.equal(await membership.start(), 'daemon', name)
    t.match(readDaemonFile(at.stateDir), { port: at.port, pid: process.pid }, name)
    await membership.leave({ successor: false })
    t.notOk(existsSync(join(at.stateDir, DAEMON_FILE)), `${name}: gone with the daemon`)
  }
  t.same(stranger.heard, [], 'a port that is not ours to use is not even asked')
})

t.test('a holder of the folder that has not said where it is yet is waited for', async t => {
  const at = await place(t)
  const lock = acquireFolder(at.stateDir)
  const { membership } = member(t, at)
  const started = membership.start()
  const asked = membership.ask(ask)
  let settled = false
  started.finally(() => { settled = true })
  await fetch(`http://127.0.0.1:${at.port}/`).catch(() => {})
  t.notOk(settled)
  lock.release()
  t.equal(await started, 'daemon')
  t.match(await asked, ask)
})

t.test('a holder that never says where it is ends the start, with the folder and the remedy', async t => {
  const at = await place(t)
  const lock = acquireFolder(at.stateDir)
  t.teardown(() => lock.release())
  const { membership } = member(t, { ...at, timings: { startMs: 200 } })
  await t.rejects(membership.start(), {
    name: 'RefusedError', exitCode: 1, message: new RegExp(`${at.stateDir}.*does not answer.*READYROOM_STATE_DIR`)
  })
})

t.test('the port held by a stranger, whatever it pretends', async t => {
  for (const [name, body] of Object.entries({
    'one that fakes the health header': 'ok',
    'one that says it is a Ready Room': JSON.stringify({
      readyroom: true, version: '9.9.9', protocol: 1, instance: 'fake', uid: process.getuid?.() ?? -1, state_dir: '/nowhere'
    })
  })) {
    const stateDir = t.testdir()
    const { port, heard } = await squat(t, 0, () => ({ headers: { 'x-readyroom': '1.2.3; instance=fake' }, body }))
    writeFileSync(join(stateDir, DAEMON_FILE), JSON.stringify({
      pid: process.pid, port, started_at: '2026-03-01T12:00:00.000Z', instance: 'fake', secret: newSecret(), protocol: PROTOCOL
    }))
    const { membership } = member(t, { stateDir, port })
    await t.rejects(membership.start(), {
      name: 'RefusedError', message: new RegExp(`^Port ${port} is held by something that is not this Ready Room.*READYROOM_PORT`)
    }, name)
    t.notMatch(JSON.stringify(heard), readDaemonFile(stateDir)!.secret, 'nothing was given away')
    acquireFolder(stateDir).release()
  }
})

t.test('the port held by something that says nothing is looked at for a while, then refused', async t => {
  const { port } = await squat(t, 0, () => undefined)
  const { membership } = member(t, { stateDir: t.testdir(), port })
  await t.rejects(membership.start(), { name: 'RefusedError', message: /does not answer/ })
})

t.test('the port held by another user\'s Ready Room', async t => {
  const { port } = await squat(t, 0, () => ({
    body: JSON.stringify({ readyroom: true, version: '1.0.0', protocol: 1, instance: 'theirs', uid: 4711, state_dir: '/home/them' })
  }))
  const { membership } = member(t, { stateDir: t.testdir(), port })
  await t.rejects(membership.start(), {
    name: 'RefusedError', message: new RegExp(`Port ${port} is held by another user's Ready Room.*READYROOM_PORT`)
  })
})

t.test('two folders on one port: refused where the folder was chosen, naming both', async t => {
  const port = await freePort()
  const dir = t.testdir({ own: {}, theirs: {} })
  const own = join(dir, 'own')
  const theirs = join(dir, 'theirs')
  await member(t, { stateDir: theirs, port }).membership.start()
  await t.rejects(member(t, { stateDir: own, port, given: { stateDir: true } }).membership.start(), {
    name: 'RefusedError', message: new RegExp(`Port ${port}.*${theirs}.*READYROOM_STATE_DIR is ${own}`)
  })
  acquireFolder(own).release()
})

t.test('two folders on one port: a folder that was not chosen gives way, also when that daemon goes', async t => {
  const port = await freePort()
  const dir = t.testdir({ own: {}, theirs: {} })
  const first = member(t, { stateDir: join(dir, 'theirs'), port })
  await first.membership.start()
  const second = member(t, { stateDir: join(dir, 'own'), port })
  t.equal(await second.membership.start(), 'client')
  const { id } = await second.membership.ask(ask)
  await first.membership.leave({ successor: false })
  t.equal((await second.membership.wait(id, { ms: 0 })).id, id, 'the queue it has asked in goes on')
  t.equal(second.membership.role, 'daemon')
  t.equal(second.membership.config.stateDir, join(dir, 'theirs'))
  acquireFolder(join(dir, 'own')).release()
})

t.test('two folders on one port, of which a token guards the other: refused, since it does not say which', async t => {
  const port = await freePort()
  const dir = t.testdir({ own: {}, theirs: {} })
  await member(t, { stateDir: join(dir, 'theirs'), port, token: TOKEN }).membership.start()
  await t.rejects(member(t, { stateDir: join(dir, 'own'), port }).membership.start(), {
    name: 'RefusedError', message: /another state folder.*a token guards it.*READYROOM_STATE_DIR/
  })
})

t.test('one folder with two ports: refused, naming both', async t => {
  const at = await place(t)
  const port = await freePort()
  await member(t, at).membership.start()
  await t.rejects(member(t, { ...at, port }).membership.start(), {
    name: 'RefusedError', message: new RegExp(`${at.stateDir}.*port ${at.port}.*here the port is ${port}`)
  })
})

t.test('one folder with two ports at one instant: one is the daemon, the other refused', async t => {
  const at = await place(t)
  const ports = [at.port, await freePort()]
  const results = await Promise.allSettled(ports.map(port => member(t, { ...at, port }).membership.start()))
  t.same(results.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  t.match(results.find(({ status }) => status === 'rejected'), { reason: { name: 'RefusedError' } })
})

t.test('two folders on one port at one instant, both chosen: one is the daemon, the other refused', async t => {
  const port = await freePort()
  const dir = t.testdir({ a: {}, b: {} })
  const results = await Promise.allSettled(['a', 'b'].map(name =>
    member(t, { stateDir: join(dir, name), port, given: { stateDir: true } }).membership.start()))
  t.same(results.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  t.match(results.find(({ status }) => status === 'rejected'), { reason: { name: 'RefusedError', message: /state folder/ } })
})

t.test('a token set here that differs is refused, and is in no message', async t => {
  const at = await place(t)
  await member(t, { ...at, token: TOKEN }).membership.start()
  const refused = member(t, { ...at, token: OTHER, given: { token: true } }).membership.start()
  await t.rejects(refused, { name: 'RefusedError', message: /READYROOM_TOKEN is set here.*another one.*readyroom stop/ })
  await refused.catch(({ message }) => {
    t.notMatch(message, TOKEN)
    t.notMatch(message, OTHER)
  })
  t.equal(await member(t, { ...at, token: TOKEN, given: { token: true } }).membership.start(), 'client')
  t.equal(await member(t, at).membership.start(), 'client', 'who has set none belongs here too')

  const open = await place(t)
  await member(t, open).membership.start()
  await t.rejects(member(t, { ...open, token: TOKEN, given: { token: true } }).membership.start(), { name: 'RefusedError', message: /has none/ })
})

t.test('a bind set here that differs is refused, naming both', async t => {
  const at = await place(t)
  await member(t, { ...at, token: TOKEN, bind: '0.0.0.0' }).membership.start()
  await t.rejects(member(t, { ...at, bind: '127.0.0.1', given: { bind: true } }).membership.start(), {
    name: 'RefusedError', message: /READYROOM_BIND is 127\.0\.0\.1 here.*bound to 0\.0\.0\.0/
  })
  t.equal(await member(t, at).membership.start(), 'client', 'a default is not at odds with anything')
})

t.test('a queue that a token guards stays guarded by it, whoever takes over', async t => {
  const at = await place(t)
  const first = member(t, { ...at, token: TOKEN, allowedOrigins: ['https://desk.example'] })
  await first.membership.start()
  const second = member(t, at)
  await second.membership.start()
  await first.membership.leave({ successor: false })
  await second.membership.pending()
  t.equal(second.membership.role, 'daemon')
  const tickets = (headers: Record<string, string>) => fetch(`http://127.0.0.1:${at.port}/api/tickets`, { headers })
  t.equal((await tickets({})).status, 401)
  t.equal((await tickets({ authorization: `Bearer ${TOKEN}` })).status, 200)
  t.same(second.membership.config.allowedOrigins, ['https://desk.example'])
})

t.test('an address that is none of this machine\'s is refused', async t => {
  await t.rejects(member(t, { ...await place(t), bind: '192.0.2.1', token: TOKEN }).membership.start(), {
    name: 'RefusedError', message: /READYROOM_BIND is 192\.0\.2\.1, which is not an address of this machine/
  })
})

t.test('a folder that cannot be used is refused', async t => {
  const file = join(t.testdir({ file: '' }), 'file')
  await t.rejects(member(t, { stateDir: join(file, 'state'), port: await freePort() }).membership.start(), {
    name: 'RefusedError', message: /cannot be used.*READYROOM_STATE_DIR/
  })
})

t.test('a newer version is handed the daemon; the older becomes its client, and loses nothing', async t => {
  const at = await place(t)
  const older = member(t, { ...at, token: TOKEN })
  await older.membership.start()
  const others = Array.from({ length: 3 }, () => member(t, at))
  await Promise.all(others.map(({ membership }) => membership.start()))
  const { id } = await older.membership.ask(ask)
  const waits = [older, ...others].map(({ membership }) => membership.wait(id, { ms: 60_000 }))

  const newer = member(t, { ...at, version: '1.3.0' })
  t.equal(await newer.membership.start(), 'daemon')
  t.equal(newer.membership.config.token, TOKEN, 'its settings stay in force')
  await eventually(async () => (await askDaemon(configOf(at)))?.waiting === 4 || undefined, 'all waits on the newer')
  t.match(await askDaemon(configOf(at)), { version: '1.3.0', pending: 1 })
  t.same(older.roles, ['daemon', 'electing', 'client'])
  await newer.membership.cancel(id)
  for (const ticket of await Promise.all(waits)) t.equal(ticket.status, 'cancelled')

  const old = member(t, { ...at, version: '1.1.0' })
  t.equal(await old.membership.start(), 'client', 'an older one works with it')
})

t.test('a newer version that is at odds with the daemon is refused, and takes nothing away', async t => {
  const at = await place(t)
  const older = member(t, { ...at, token: TOKEN })
  await older.membership.start()
  await t.rejects(member(t, { ...at, version: '2.0.0', token: OTHER, given: { token: true } }).membership.start(), { name: 'RefusedError' })
  t.same(older.roles, ['daemon'])
})

t.test('a daemon whose folder was removed is not said to be none', async t => {
  const at = await place(t)
  await member(t, at).membership.start()
  rmSync(at.stateDir, { recursive: true })
  const refusal = { name: 'RefusedError', message: new RegExp(`port ${at.port} runs on the state folder ${at.stateDir}, which has been removed`) }
  await Promise.all([
    t.rejects(askDaemon(configOf(at)), refusal),
    t.rejects(stopDaemon(configOf({ ...at, given: { stateDir: true } })), refusal)
  ])
  t.notOk(existsSync(at.stateDir), 'asking makes no folder')
})

t.test('a daemon that has yet to write its daemon.json is found all the same', async t => {
  const at = await place(t)
  await member(t, at).membership.start()
  const path = join(at.stateDir, DAEMON_FILE)
  const content = readFileSync(path)
  rmSync(path)
  const asked = askDaemon(configOf(at))
  setImmediate(() => writeFileSync(path, content))
  t.match(await asked, { pid: process.pid, port: at.port })
})

t.test('stop ends the daemon without a successor; a client takes over', async t => {
  const at = await place(t)
  t.equal(await stopDaemon(configOf(at)), undefined, 'where none runs there is nothing to stop')
  const first = member(t, at)
  const second = member(t, at)
  await first.membership.start()
  await second.membership.start()
  await second.membership.ask(ask)
  const result = await stopDaemon(configOf(at))
  t.match(result, { stopped: { pid: process.pid, pending: 1, clients: [{ pid: process.pid }] } })
  t.equal(await first.membership.ended, 'stopped')
  await eventually(() => second.membership.role === 'daemon' || undefined, 'the client to take over')
  await stopDaemon(configOf(at))
  t.equal(await second.membership.ended, 'stopped')
  t.equal(await askDaemon(configOf(at)), undefined)
})

t.test('several stops at once are each told what has stopped, also by a daemon that is ending already', async t => {
  const at = await place(t)
  const members = Array.from({ length: 5 }, () => member(t, at))
  for (const { membership } of members) await membership.start()
  const leaving = members[0]!.membership.leave({ successor: false })
  const results = await Promise.all(Array.from({ length: 3 }, () => stopDaemon(configOf(at))))
  t.same(results.map(result => result?.pid), Array(3).fill(process.pid))
  await leaving
  const { instance } = (await eventually(() => askDaemon(configOf(at)), 'one of the others to take over'))
  t.ok(members.some(({ membership }) => membership.role === 'daemon'), instance)
})

t.test('a daemon on a loopback address of its own is found by those who were not told the address', async t => {
  const at = { stateDir: testFolder(t), port: await freePort() }
  await member(t, { ...at, bind: '127.0.0.9' }).membership.start()
  t.equal(readDaemonFile(at.stateDir)?.bind, '127.0.0.9')
  const second = member(t, at)
  t.equal(await second.membership.start(), 'client')
  t.match(await second.membership.ask(ask), ask)
  t.equal((await askDaemon(configOf(at)))?.bind, '127.0.0.9')
  t.match(await stopDaemon(configOf(at)), { stopped: { bind: '127.0.0.9' } })
  await eventually(() => second.membership.role === 'daemon' || undefined, 'the client to take over')
  t.equal(readDaemonFile(at.stateDir)?.bind, '127.0.0.9', 'whoever takes over keeps the address')
})

t.test('status finds the daemon of the port where the folder was not chosen', async t => {
  const port = await freePort()
  const dir = t.testdir({ own: {}, theirs: {} })
  await member(t, { stateDir: join(dir, 'theirs'), port }).membership.start()
  t.match(await askDaemon(configOf({ stateDir: join(dir, 'own'), port })), { state_dir: join(dir, 'theirs') })
  t.equal(await askDaemon(configOf({ stateDir: join(dir, 'own'), port, given: { stateDir: true } })), undefined)
})

t.test('a client that is refused later says so to every call, keeps trying, and is back when it can', async t => {
  const at = await place(t)
  const first = member(t, at)
  await first.membership.start()
  const real = daemonOpener({ version: '1.2.3', log: pino({ level: 'silent' }) })
  let squatter: Squatter | undefined
  const second = member(t, {
    ...at,
    async openDaemon (context) {
      // Somebody else is faster, once.
      squatter ??= await squat(t, at.port, () => ({ body: 'no' }))
      return real(context)
    }
  })
  await second.membership.start()
  const id = (await second.membership.ask(ask)).id
  const waited = second.membership.wait(id, { ms: 60_000 })
  await eventually(async () => (await askDaemon(configOf(at)))?.waiting === 1 || undefined, 'the wait')
  await first.membership.leave({ successor: false })
  t.match(await waited, { id, status: 'pending' }, 'a wait under way says how its ticket stood')
  await t.rejects(second.membership.ask(ask), { code: 'STORE_UNAVAILABLE', message: new RegExp(`Port ${at.port} is held`) })
  t.equal(second.membership.role, 'electing')
  await squatter!.close()
  await eventually(() => second.membership.role === 'daemon' || undefined, 'its place')
  t.equal((await second.membership.cancel(id)).status, 'cancelled')
})

t.test('a folder that was removed under a running daemon is said to be', async t => {
  const at = await place(t)
  const first = member(t, at)
  await first.membership.start()
  rmSync(at.stateDir, { recursive: true })
  await t.rejects(member(t, at).membership.start(), {
    name: 'RefusedError', message: new RegExp(`port ${at.port} runs on the state folder ${at.stateDir}, which has been removed or replaced`)
  })
})

t.test('a daemon whose folder was deleted lets go of the port, and those who are here go on with an empty queue', async t => {
  const at = { stateDir: testFolder(t), port: await freePort() }
  const members = [member(t, { ...at, timings: { folderMs: 20 } }), member(t, { ...at, timings: { folderMs: 20 } })]
  for (const { membership } of members) await membership.start()
  await members[0]!.membership.ask(ask)
  rmSync(at.stateDir, { recursive: true })
  await eventually(async () => (await askDaemon(configOf(at)).catch(() => undefined))?.clients.length === 1 || undefined, 'both to have a place again')
  t.match(await askDaemon(configOf(at)), { pending: 0, state_dir: at.stateDir })
  for (const { membership } of members) t.match(await membership.ask(ask), ask)
  t.match(await stopDaemon(configOf(at)), { stopped: { pending: 2 } }, 'and it can be stopped')
})

t.test('a lingering daemon whose folder was deleted ends', async t => {
  const at = await place(t)
  const first = member(t, at)
  await first.membership.start()
  await first.membership.ask(ask)
  await first.membership.leave({ successor: false })
  const lingering = member(t, { ...at, linger: true, timings: { folderMs: 20 } })
  t.equal(await lingering.membership.start(), 'daemon')
  rmSync(at.stateDir, { recursive: true })
  t.equal(await lingering.membership.ended, 'idle')
  t.notOk(existsSync(at.stateDir), 'and leaves no folder')
})

t.test('a daemon whose audit log alone was deleted waits for it to be put back', async t => {
  const at = await place(t)
  const { membership, roles } = member(t, { ...at, timings: { folderMs: 10 } })
  await membership.start()
  rmSync(join(at.stateDir, 'audit.jsonl'))
  for (let n = 0; n < 5; n++) await t.rejects(membership.ask(ask), { code: 'STORE_UNAVAILABLE' })
  t.same(roles, ['daemon'])
})

const HASTY = { lookMs: 50, idleLookMs: 20, graceMs: 50 }

t.test('a lingering daemon ends by itself when nothing waits for it any more', async t => {
  const at = await place(t)
  const first = member(t, at)
  await first.membership.start()
  const { id } = await first.membership.ask(ask)
  await first.membership.leave({ successor: false })
  const { membership } = member(t, { ...at, linger: true, lingerTimings: HASTY })
  t.equal(await membership.start(), 'daemon')
  t.match(await askDaemon(configOf(at)), { lingering: true, pending: 1 })
  await membership.cancel(id)
  t.equal(await membership.ended, 'idle')
  t.equal(await askDaemon(configOf(at)), undefined)
})

t.test('a lingering process that finds a daemon is superfluous', async t => {
  const at = await place(t)
  await member(t, at).membership.start()
  const { membership } = member(t, { ...at, linger: true })
  await membership.start()
  t.equal(await membership.ended, 'superfluous')
  await eventually(async () => (await askDaemon(configOf(at)))?.clients.length === 0 || undefined, 'it to be gone')
})

t.test('a lingering daemon that a newer version takes over from has nothing more to do', async t => {
  const at = await place(t)
  const { membership } = member(t, { ...at, linger: true })
  await membership.start()
  t.equal(await member(t, { ...at, version: '1.3.0' }).membership.start(), 'daemon')
  t.equal(await membership.ended, 'handed over')
})

t.test('leaving before there is a place leaves nothing behind', async t => {
  const at = await place(t)
  const { membership } = member(t, at)
  const started = membership.start()
  await membership.leave({ successor: false })
  await started
  t.equal(membership.role, 'left')
  await t.rejects(membership.ask(ask), { code: 'STORE_UNAVAILABLE', message: /ending/ })
  acquireFolder(at.stateDir).release()
  t.notOk(existsSync(join(at.stateDir, DAEMON_FILE)))
})

t.test('a folder without room for daemon.json is refused, and let go', async t => {
  const at = await place(t)
  const folder = join(at.stateDir, `${DAEMON_FILE}.tmp`)
  t.testdir({ [`${DAEMON_FILE}.tmp`]: { in: 'the way' } })
  t.ok(existsSync(folder))
  await t.rejects(member(t, at).membership.start(), { name: 'RefusedError', message: /daemon\.json cannot be written in the state folder/ })
  t.equal(readFileSync(join(folder, 'in'), 'utf8'), 'the way')
  acquireFolder(at.stateDir).release()
})
