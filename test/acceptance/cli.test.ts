import { appendFileSync, chmodSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createWorld, eventually, freePort, messages, type World } from '../helpers/process'
import { startAgent } from '../helpers/singleton'

const TOKEN = 'a-token-that-nobody-may-ever-see'

/** A wait that is under way over HTTP, as an agent holds it open. */
async function waitOverHttp ({ url }: World, id: string): Promise<string> {
  const response = await fetch(`${url}/mcp/somebody`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', origin: url },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'wait_for_answer', arguments: { id, timeout_seconds: 600 } } })
  })
  return response.text()
}

async function untilWaiting (world: World, count: number): Promise<void> {
  await eventually(async () => JSON.parse((await world.run(['status', '--json'])).stdout).waiting === count || undefined, `${count} waiting`)
}

t.test('help and version are all that is on standard output, and nothing is started', async t => {
  const world = await createWorld(t)
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'))
  for (const argv of [['--version'], ['-v']]) t.match(await world.run(argv), { code: 0, stdout: `${version}\n`, stderr: '' })
  for (const argv of [['--help'], ['-h'], ['help']]) {
    const { code, stdout, stderr } = await world.run(argv)
    t.equal(code, 0)
    t.equal(stderr, '')
    for (const word of ['readyroom serve', 'readyroom status', 'readyroom stop', 'readyroom setup', 'readyroom doctor', 'readyroom audit', '--port', 'READYROOM_TOKEN', 'Exit codes']) t.ok(stdout.includes(word), word)
  }
  for (const command of ['serve', 'status', 'stop', 'setup', 'doctor', 'audit']) {
    const { code, stdout } = await world.run([command, '--help'])
    t.equal(code, 0)
    t.ok(stdout.startsWith(`readyroom ${command}`))
    t.equal((await world.run(['help', command])).stdout, stdout)
  }
  t.notOk(existsSync(world.stateDir))
})

t.test('a command line that is not understood is exit code 2, a bad environment is 1, and standard output stays clean', async t => {
  const world = await createWorld(t)
  const refused = async (args: string[], env: Record<string, string>, code: number, message: RegExp): Promise<void> => {
    const result = await world.run(args, { env })
    t.equal(result.code, code, args.join(' '))
    t.equal(result.stdout, '')
    t.match(result.stderr, message)
    t.match(result.stderr, /^readyroom: [^\n]+\n$/, 'one sentence, no stack')
    t.notOk(result.stderr.includes(TOKEN))
  }
  await refused(['start'], {}, 2, /no command "start"/)
  await refused(['--prot=1'], {}, 2, /Unknown option '--prot'/)
  await refused(['serve', '--port', '3500'], {}, 2, /--port is "3500".*worktree helper/)
  await refused(['status', '--port', 'x'], {}, 2, /--port is "x"/)
  await refused(['--bind', '0.0.0.0'], {}, 2, /--bind is "0\.0\.0\.0".*READYROOM_TOKEN/)
  await refused(['--token', ''], {}, 2, /--token is blank/)
  await refused([], { READYROOM_PORT: '3000' }, 1, /READYROOM_PORT is "3000".*worktree helper/)
  await refused(['serve'], { READYROOM_PORT: '0' }, 1, /READYROOM_PORT is "0"/)
  await refused(['serve'], { READYROOM_TOKEN: '' }, 1, /READYROOM_TOKEN is blank/)
  await refused([], { READYROOM_TOKEN: `${TOKEN}\n` }, 1, /READYROOM_TOKEN holds a character/)
  await refused(['serve'], { READYROOM_BIND: '::' }, 1, /READYROOM_BIND is "::".*READYROOM_TOKEN/)
  await refused(['serve'], { READYROOM_BIND: '192.0.2.1', READYROOM_TOKEN: TOKEN }, 1, /READYROOM_BIND is 192\.0\.2\.1, which is not an address of this machine/)
  await refused(['serve'], { READYROOM_ALLOWED_ORIGINS: 'https://a/b' }, 1, /READYROOM_ALLOWED_ORIGINS is "https:\/\/a\/b"/)
  await refused(['stop'], { READYROOM_ORIGIN_POLICY: 'lax' }, 1, /READYROOM_ORIGIN_POLICY is "lax"/)
})

t.test('with /dev/null or nothing at all on standard input it serves until a signal comes, and then closes in time', async t => {
  const world = await createWorld(t)
  const shell = openSync('/dev/null', 'r')
  for (const [signal, stdin] of [['SIGTERM', 'ignore'], ['SIGINT', shell], ['SIGHUP', 'ignore']] as const) {
    const running = world.start([], { stdio: [stdin, 'pipe', 'pipe'] })
    await running.opened()
    t.equal(await (await fetch(`${world.url}/healthz`)).text(), 'ok')
    const begin = performance.now()
    running.kill(signal)
    const { code, stdout } = await running.finished
    t.ok(performance.now() - begin < 2_000, `${signal}: ${performance.now() - begin} ms`)
    t.equal(code, 0)
    t.equal(stdout, '')
  }
  t.strictSame(world.alive(), [])
})

t.test('a descriptor 0 that is closed counts as nobody being there', async t => {
  const world = await createWorld(t)
  const running = world.startShell('exec "$@" <&-', [])
  await running.opened()
  running.kill('SIGTERM')
  t.match(await running.finished, { code: 0, stdout: '' })
})

t.test('closing answers who waits and ends what streams, within two seconds', async t => {
  const world = await createWorld(t)
  const running = world.start(['serve'], { stdio: ['ignore', 'pipe', 'pipe'] })
  await running.opened()
  const agent = world.start([], { cwd: 'agent' })
  await agent.initialize()
  const { id } = await agent.call('ask_human', { question: 'Go on?' })
  agent.child.stdin!.end()
  await agent.finished
  const events = await fetch(`${world.url}/api/events`)
  const wait = waitOverHttp(world, id)
  await untilWaiting(world, 1)

  const begin = performance.now()
  running.kill('SIGTERM')
  t.match(await wait, /"status\\?":\\?"pending/)
  t.type(await events.text(), 'string')
  t.equal((await running.finished).code, 0)
  t.ok(performance.now() - begin < 2_000, `${performance.now() - begin} ms`)
})

t.test('a signal to the process of an agent answers its open wait before it goes', async t => {
  const world = await createWorld(t)
  const serving = world.start(['serve'], { stdio: ['ignore', 'pipe', 'pipe'] })
  await serving.opened()
  const agent = world.start([])
  await agent.initialize()
  const { id } = await agent.call('ask_human', { question: 'Go on?' })
  const wait = agent.call('wait_for_answer', { id, timeout_seconds: 600 })
  await untilWaiting(world, 1)
  const begin = performance.now()
  agent.kill('SIGTERM')
  t.match(await wait, { id, status: 'pending' })
  t.equal((await agent.finished).code, 0)
  t.ok(performance.now() - begin < 2_000, `${performance.now() - begin} ms`)
  t.strictSame(world.alive(), [serving.pid], 'the daemon goes on, and nobody else')
})

t.test('standard input that ends before a word leaves nothing behind', async t => {
  const world = await createWorld(t)
  const at = await Promise.all([
    world.run([], { input: '' }),
    world.run([], { input: '\n\n' }),
    world.run([], { input: 'this is not MCP\n{"half": \n' })
  ])
  for (const { code, stdout, ms } of at) {
    t.equal(code, 0)
    for (const message of messages(stdout)) t.ok(message.error, 'nothing but a refusal')
    t.ok(ms < 10_000, `${ms} ms`)
  }
  t.strictSame(world.alive(), [])
  t.equal((await world.run(['status'])).code, 1)
})

t.test('what was asked before standard input ended is still answered, from a pipe and from a file', async t => {
  const world = await createWorld(t)
  const input = [
    { id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } } },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/list', params: {} }
  ].map(message => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('')
  const file = join(world.home, 'session.jsonl')
  writeFileSync(file, input)
  const results = [await world.run([], { input }), await world.run([], { stdio: [openSync(file, 'r'), 'pipe', 'pipe'] })]
  for (const { code, stdout } of results) {
    t.equal(code, 0)
    t.strictSame(messages(stdout).map(({ id }) => id), [1, 2])
  }
  t.strictSame(world.alive(), [])
})

t.test('an agent that leaves in the middle of a wait takes its process with it', async t => {
  const world = await createWorld(t)
  const serving = world.start(['serve'], { stdio: ['ignore', 'pipe', 'pipe'] })
  await serving.opened()
  const agent = world.start([])
  await agent.initialize()
  const { id } = await agent.call('ask_human', { question: 'Go on?' })
  agent.say({ id: 99, method: 'tools/call', params: { name: 'wait_for_answer', arguments: { id, timeout_seconds: 600 } } })
  await untilWaiting(world, 1)
  const begin = performance.now()
  agent.child.stdin!.end()
  t.equal((await agent.finished).code, 0)
  t.ok(performance.now() - begin < 2_000, `${performance.now() - begin} ms`)
  await untilWaiting(world, 0)
  t.equal((await world.api<{ tickets: unknown[] }>('/api/tickets')).body.tickets.length, 1, 'the ticket stays')
})

t.test('a client that no longer reads is no reason to crash or to stay', async t => {
  const world = await createWorld(t)
  const serving = world.start(['serve'], { stdio: ['ignore', 'pipe', 'pipe'] })
  await serving.opened()
  serving.child.stderr!.destroy()
  serving.child.stdout!.destroy()
  for (const asked of [1, 2, 3]) {
    const agent = world.start([], { cwd: `agent${asked}` })
    await agent.initialize()
    await agent.call('ask_human', { question: 'Still there?' })
    agent.child.stdout!.destroy()
    agent.say({ id: 99, method: 'tools/call', params: { name: 'list_pending', arguments: {} } })
    const { code, stderr } = await agent.finished
    t.equal(code, 0)
    t.notMatch(stderr, /EPIPE|Unexpected/)
  }
  t.equal((await world.api<{ tickets: unknown[] }>('/api/tickets')).body.tickets.length, 3, 'who lost its log serves on')
})

t.test('status and stop say what is there, and what is not', async t => {
  const world = await createWorld(t)
  t.match(await world.run(['status']), { code: 1, stdout: 'No Ready Room is running.\n', stderr: '' })
  t.match(await world.run(['status', '--json']), { code: 1, stdout: '{"running":false}\n', stderr: '' })
  t.match(await world.run(['stop']), { code: 0, stdout: 'No Ready Room is running.\n', stderr: '' })
  t.notOk(existsSync(world.stateDir), 'a question creates nothing')

  const serving = world.start(['serve'], { stdio: ['ignore', 'pipe', 'pipe'] })
  await serving.opened()
  const agent = world.start([])
  await agent.initialize()
  await agent.call('ask_human', { question: 'Go on?' })

  const json = await world.run(['status', '--json'])
  t.equal(json.code, 0)
  t.match(JSON.parse(json.stdout), {
    running: true, page: `${world.url}/`, pid: serving.pid, port: world.port, pending: 1, lingering: false, state_dir: world.stateDir, clients: [{ pid: agent.pid }]
  })
  const { code, stdout } = await world.run(['status'])
  t.equal(code, 0)
  for (const word of [`${world.url}/`, `pid ${agent.pid}`, '1 ticket;', world.stateDir]) t.ok(stdout.includes(word), word)

  const first = await world.run(['stop'])
  t.match(first, { code: 0, stderr: '' })
  t.equal((await serving.finished).code, 0)
  t.match(first.stdout, new RegExp(`pid ${serving.pid}\\) has stopped.*pid ${agent.pid}\\) has taken over`))
  t.equal((await agent.call('list_pending', {})).tickets?.length, 1)

  const second = await world.run(['stop'])
  t.match(second, { code: 0, stdout: /has stopped\. The pending ticket is kept/ })
  await agent.finished
  t.equal((await world.run(['status'])).code, 1)
  t.strictSame(world.alive(), [])
})

t.test('the audit log can be read and checked while it is written and when nobody runs', async t => {
  const world = await createWorld(t)
  const none = await world.run(['audit'])
  t.match(none, { code: 0, stdout: '', stderr: /There is no audit log at .*audit\.jsonl/ })
  t.match(await world.run(['audit', '--verify']), { code: 1, stdout: '' })
  t.strictSame(JSON.parse((await world.run(['audit', '--verify', '--json'])).stdout), { path: join(world.stateDir, 'audit.jsonl'), ok: false, missing: true })

  const serving = world.start(['serve'], { stdio: ['ignore', 'pipe', 'pipe'] })
  await serving.opened()
  const agent = world.start([], { env: { READYROOM_STREAM: 'alpha' } })
  await agent.initialize()
  const { id } = await agent.call('ask_human', { question: 'Which\none?\u001b[2J', options: ['this', 'that'] })
  await world.api('/api/answer', { id, answer: 'that', answered_by: 'Lea' })
  agent.child.stdin!.end()
  await agent.finished

  const check = async (): Promise<string> => {
    const read = await world.run(['audit'])
    t.equal(read.code, 0)
    const lines = read.stdout.trimEnd().split('\n')
    t.equal(lines.length, 2)
    t.match(lines[0], /^ {5}1 {2}\S+Z {2}enqueued {3}alpha {2}"Which one\? \[2J"$/)
    t.match(lines[1], /^ {5}2 {2}\S+Z {2}answered {3}alpha {2}.* -> "that" \(Lea\)$/)
    const entries = (await world.run(['audit', '--json'])).stdout.trimEnd().split('\n')
    t.strictSame(entries, readFileSync(join(world.stateDir, 'audit.jsonl'), 'utf8').trimEnd().split('\n'), 'byte for byte')
    const since = JSON.parse(entries[1]!).at
    t.equal((await world.run(['audit', '--json', '--since', since])).stdout.trimEnd().split('\n').length, 1)
    t.equal((await world.run(['audit', '--since', '2999-01-01'])).stdout, '')
    const verified = await world.run(['audit', '--verify', '--json'])
    t.equal(verified.code, 0)
    t.match(JSON.parse(verified.stdout), { ok: true, entries: 2, head: { seq: 2 } })
    t.match(await world.run(['audit', '--verify']), { code: 0, stdout: /The audit log holds\./ })
    return JSON.parse(verified.stdout).head.hash
  }
  const head = await check()
  serving.kill('SIGTERM')
  await serving.finished
  t.equal(await check(), head)

  t.match(await world.run(['audit', '--verify', '--head', head]), { code: 0, stdout: /is entry 2/ })
  t.match(await world.run(['audit', '--verify', '--head', 'f'.repeat(64)]), { code: 1, stdout: /was cut or rewritten/ })
  const log = join(world.stateDir, 'audit.jsonl')
  const text = readFileSync(log, 'utf8')
  writeFileSync(log, text.split('\n')[0] + '\n')
  t.match(await world.run(['audit', '--verify']), { code: 0 }, 'a shorter log holds in itself')
  t.match(await world.run(['audit', '--verify', '--head', head]), { code: 1 }, 'and not against what was noted')
  writeFileSync(log, text.replace('that', 'this'))
  t.match(await world.run(['audit', '--verify']), { code: 1, stdout: /does not hold[^]*line 1 does not match its own hash/ })
  t.match(await world.run(['audit']), { code: 1, stderr: /Line 1 of .* cannot be read/ })
})

t.test('a reader that has seen enough ends the audit quietly', async t => {
  const world = await createWorld(t)
  const serving = world.start(['serve'], { stdio: ['ignore', 'pipe', 'pipe'] })
  await serving.opened()
  const agent = world.start([])
  await agent.initialize()
  const context = 'x'.repeat(60_000)
  for (let i = 0; i < 20; i++) await agent.call('ask_human', { question: `Number ${i}?`, context })
  agent.child.stdin!.end()
  await agent.finished
  const cut = world.startShell('set -o pipefail; "$@" | head -c 100; echo " $?"', ['audit', '--json'])
  const { stdout, stderr } = await cut.finished
  t.match(stdout, /^\{"seq":1,.* 0\n$/)
  t.equal(stderr, '')
})

t.test('what a full disk does not take, or another user may not read, is a failure', async t => {
  const world = await createWorld(t)
  const daemon = await startAgent(world, 'project')
  await daemon.call('ask_human', { question: 'May I?' })
  const full = openSync('/dev/full', 'w')
  t.teardown(() => closeSync(full))
  for (const args of [['audit'], ['audit', '--verify'], ['status', '--json'], ['--help']]) {
    const { code, stderr } = await world.run(args, { stdio: ['ignore', full, 'pipe'] })
    t.equal(code, 1, args.join(' '))
    t.match(stderr, /^readyroom: The output could not be written in full: the disk is full \(ENOSPC\)\.[^\n]*\n$/)
  }
  chmodSync(world.home, 0o711)
  const other = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  if (other.uid === undefined) chmodSync(world.stateDir, 0o000)
  const { code, stdout, stderr } = await world.run(['audit'], { cwd: '/', ...other })
  chmodSync(world.stateDir, 0o700)
  t.strictSame({ code, stdout }, { code: 1, stdout: '' })
  t.match(stderr, /audit\.jsonl cannot be read: permission is denied \(EACCES\)/)
})

t.test('started in / it has no stream of its own, and says so', async t => {
  const world = await createWorld(t)
  const agent = world.start([], { cwd: '/' })
  await agent.initialize()
  const { id } = await agent.call('ask_human', { question: 'From where?' })
  await agent.logged(/"level":40,.*unnamed.*READYROOM_STREAM/)
  t.equal((await world.api<{ stream: string }>(`/api/tickets/${id}`)).body.stream, 'unnamed')
  const named = world.start(['--stream', 'by name'], { cwd: '/' })
  await named.initialize()
  const other = await named.call('ask_human', { question: 'From where?' })
  t.equal((await world.api<{ stream: string }>(`/api/tickets/${other.id}`)).body.stream, 'by name')
  t.notMatch(named.stderr, 'unnamed')
  await world.run(['stop'])
  await world.run(['stop'])
})

t.test('a working folder that is gone is no obstacle', async t => {
  const world = await createWorld(t)
  const gone = join(world.home, 'gone')
  mkdirSync(gone)
  const running = world.startShell('cd "$GONE" && rmdir "$GONE" && exec "$@"', ['serve'], { env: { GONE: gone } })
  await running.opened()
  running.kill('SIGTERM')
  t.equal((await running.finished).code, 0)
})

t.test('an ordinary user in / gets the folder of a person; a folder that cannot be written is refused by name', async t => {
  const world = await createWorld(t)
  const home = join(world.home, 'ordinary')
  const user = { uid: 65_534, gid: 65_534 }
  mkdirSync(home)
  world.share(home, user)
  const env = { HOME: home }
  const running = world.start([], { ...user, env, cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] })
  await running.opened()
  t.equal(statSync(join(home, '.local/state/readyroom')).mode & 0o777, 0o700)
  t.equal(statSync(join(home, '.local/state/readyroom/daemon.json')).mode & 0o777, 0o600)
  running.kill('SIGTERM')
  t.equal((await running.finished).code, 0)

  const locked = join(home, 'locked')
  mkdirSync(locked)
  world.share(locked, user, 0o555)
  for (const input of [undefined, '']) {
    const refused = await world.run([], { ...user, env: { ...env, READYROOM_STATE_DIR: locked }, cwd: '/', ...(input !== undefined && { input }) })
    t.equal(refused.code, input === undefined ? 1 : refused.code)
    t.equal(refused.stdout, '')
  }
  const refused = await world.run(['serve'], { ...user, env: { ...env, READYROOM_STATE_DIR: locked }, cwd: '/' })
  t.match(refused, { code: 1, stdout: '' })
  t.ok(refused.stderr.includes(locked) && refused.stderr.includes('READYROOM_STATE_DIR'), refused.stderr)
})

t.test('flags win over the environment, and a folder may be called anything', async t => {
  const world = await createWorld(t)
  const port = await freePort()
  const stateDir = join(world.home, "Lea's queue (v2) $HOME")
  const running = world.start(['serve', '--port', String(port), '--state-dir', stateDir], { stdio: ['ignore', 'pipe', 'pipe'] })
  await running.opened()
  t.equal(await (await fetch(`http://127.0.0.1:${port}/healthz`)).text(), 'ok')
  t.ok(existsSync(join(stateDir, 'daemon.json')))
  t.match(JSON.parse((await world.run(['status', '--json', '--state-dir', stateDir, '--port', String(port)])).stdout), { running: true, port })
  t.match(await world.run(['stop'], { env: { READYROOM_STATE_DIR: stateDir } }), { code: 0, stdout: /has stopped/ })
  t.equal((await running.finished).code, 0)
})

t.test('a token guards the page, is warned about when it is short, and is in no log', async t => {
  const world = await createWorld(t)
  const running = world.start(['serve', '--bind', '0.0.0.0'], { env: { READYROOM_TOKEN: 'short-secret' }, stdio: ['ignore', 'pipe', 'pipe'] })
  await running.opened()
  t.match(await running.logged(/at least 24/), /"level":40/)
  t.equal((await fetch(`${world.url}/api/tickets`)).status, 401)
  t.equal((await fetch(`${world.url}/api/tickets`, { headers: { authorization: 'Bearer short-secret' } })).status, 200)
  t.match(await world.run(['status']), { code: 0, stdout: /with a token/ })
  running.kill('SIGTERM')
  const { stderr } = await running.finished
  t.notMatch(stderr, 'short-secret')
})

t.test('on a terminal it says where the page is and how to wire a client, and Ctrl-C stops it', async t => {
  const world = await createWorld(t)
  // script(1) lends a terminal; what is typed there comes from our pipe.
  const running = world.startShell('exec script -qec "exec $(printf "%q " "$@")" /dev/null', [])
  const line = await running.until(({ stdout }) => /Wire a first client: (.*)\r\n[^]*\n/.exec(stdout)?.[1], 'the welcome')
  t.match(running.stdout, `Ready Room is open: ${world.url}/`)
  t.match(line, new RegExp(`^claude mcp add readyroom -e READYROOM_PORT=${world.port} -- node .*`))
  t.notMatch(running.stdout, /\{"level"/, 'nothing there is JSON')
  t.equal(await (await fetch(`${world.url}/healthz`)).text(), 'ok')
  running.child.stdin!.write('\u0003')
  t.equal((await running.finished).code, 0)
  t.strictSame(world.alive(), [])
})

t.test('a second one on a terminal or as a service stands by, and takes over', async t => {
  const world = await createWorld(t)
  const first = world.start(['serve'], { stdio: ['ignore', 'pipe', 'pipe'] })
  await first.opened()
  const second = world.start(['serve'], { stdio: ['ignore', 'pipe', 'pipe'] })
  await second.logged(/stands by/)
  first.kill('SIGKILL')
  await second.logged(/This process is the daemon/)
  t.equal(await (await fetch(`${world.url}/healthz`)).text(), 'ok')
  second.kill('SIGTERM')
  t.equal((await second.finished).code, 0)
})

t.test('a torn end of the log is set aside and said; a damaged middle is refused, naming the line', async t => {
  const world = await createWorld(t)
  const serving = world.start(['serve'], { stdio: ['ignore', 'pipe', 'pipe'] })
  await serving.opened()
  const agent = world.start([])
  await agent.initialize()
  for (const question of ['One?', 'Two?', 'Three?']) await agent.call('ask_human', { question })
  agent.child.stdin!.end()
  await agent.finished
  serving.kill('SIGTERM')
  await serving.finished
  const log = join(world.stateDir, 'audit.jsonl')
  appendFileSync(log, '{"seq":4,"batch":4,"at":"20')
  const again = world.start(['serve'], { stdio: ['ignore', 'pipe', 'pipe'] })
  await again.opened()
  t.match(again.stderr, /audit\.jsonl\.torn-/)
  again.kill('SIGTERM')
  await again.finished

  writeFileSync(log, readFileSync(log, 'utf8').replace('Two?', 'Tow?'))
  rmSync(join(world.stateDir, 'tickets.json'))
  const refused = await world.run(['serve'])
  t.match(refused, { code: 1, stdout: '' })
  t.match(refused.stderr, /audit\.jsonl/)
  t.match(refused.stderr, /line 2/i)
})
