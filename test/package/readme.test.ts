import { cpSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { boxesIn, commandsOf } from '../helpers/docs'
import { emptyFolder, install, provide, ROOT as root } from '../helpers/packed'
import { createWorld, eventually, type Finished, type Running, type World } from '../helpers/process'

t.setTimeout(240_000)
const FRESH = 'fresh'
const only = emptyFolder(t)
const installed = await install(only)
if (installed.code !== 0) throw new Error(installed.stderr)

/** How a command is run here; or, where it cannot be, who runs it instead. */
type Way = { run: (t: Test, command: string) => Promise<void> } | { elsewhere: string }

/** The first row that matches says how. A command without a row fails, and so does a row without a command. */
const TABLE: Array<[RegExp, Way]> = [
  [/^npm ci$/, { elsewhere: 'it fetches every package: .ci/run begins with it' }],
  [/^npm test$/, { elsewhere: 'this test is part of it' }],
  [/^npm start$/, { run: fromClone }],
  [/^npx readyroom( serve)?$/, { run: servesUntilStopped }],
  [/^npx readyroom admin add-token /, { run: afterInit }],
  [/^npx (-y )?readyroom [a-z]/, { run: runsToItsEnd }],
  [/ -- npx -y readyroom$| npx -y readyroom$/, { run: startedByClient }],
  [/^claude mcp add --transport http /, { run: reachedOverHttp }],
  [/^echo "READYROOM_TOKEN=/, { run: makesToken }],
  [/^docker run /, { elsewhere: 'it needs an engine: test/container/container.test.ts runs it as it stands' }],
  [/^npx wrangler secret put READYROOM_TOKEN$/, { elsewhere: 'it needs an account: test/worker tests what holds without and with the secret' }],
  [/^npm run deploy:worker$/, { elsewhere: 'it needs an account: the suite worker-build makes the same upload and stops before it' }]
]

const commands = boxesIn('README.md', 'sh').flatMap(commandsOf).flatMap(line => line.split(/\s+&&\s+/))

for (const command of new Set(commands)) {
  const way = TABLE.find(([pattern]) => pattern.test(command))?.[1]
  t.test(`README: ${command}`, async t => {
    if (way === undefined) throw new Error('No row of the table says how this is run: give it one')
    if ('run' in way) await way.run(t, command)
    else t.pass(way.elsewhere)
  })
}

t.test('every row of the table is about a command that the README has', async t => {
  // Commands that another page may well move in and out; the general row stands for them.
  const general = [/^npx (-y )?readyroom [a-z]/].map(String)
  for (const [pattern] of TABLE) {
    if (!general.includes(String(pattern))) t.ok(commands.some(command => pattern.test(command)), String(pattern))
  }
  const tests = 'npm ci && npm test'
  t.ok(boxesIn('README.md', 'sh').flatMap(commandsOf).includes(tests), 'the tests are one command')
  t.equal(readFileSync(join(root, '.ci/run'), 'utf8').trimEnd().split('\n').at(-1), tests)
})

t.test("the README's application asks, where only the package and Fastify are", async t => {
  const world = await createWorld(t)
  const folder = join(world.home, FRESH)
  cpSync(only, folder, { recursive: true, verbatimSymlinks: true })
  provide(folder, 'fastify')
  const [box] = boxesIn('README.md', 'ts')
  writeFileSync(join(folder, 'app.mjs'), `${box}\nconsole.log(id)\nawait app.close()\n`)
  const { code, stdout, stderr } = await world.startShell('exec node app.mjs', [], { cwd: FRESH, stdio: ['ignore', 'pipe', 'pipe'] }).finished
  t.equal(code, 0, stderr)
  const { event, ticket } = JSON.parse(readFileSync(join(folder, 'state/audit.jsonl'), 'utf8'))
  t.match({ event, ...ticket }, { event: 'enqueued', id: stdout.trim(), question: 'Release 1.2.3?', stream: 'releases', status: 'pending' })
})

t.test('everything that the README leads to is there', async t => {
  const text = readFileSync(join(root, 'README.md'), 'utf8')
  const targets = [...text.matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map(([, target]) => target!)
  t.ok(targets.length > 5)
  for (const target of targets) t.doesNotThrow(() => statSync(join(root, target)), target)
})

/** A folder in which only the package is installed, from what would be published, and nothing was fetched. */
async function freshFolder (t: Test): Promise<World> {
  const world = await createWorld(t)
  cpSync(only, join(world.home, FRESH), { recursive: true, verbatimSymlinks: true })
  return world
}

/** The command as it stands, but for the port, in the fresh folder of a machine without a network. */
function start (world: World, command: string, stdin: 'ignore' | 'pipe', cwd = FRESH): Running {
  return world.startShell(command.replaceAll('8971', String(world.port)), [], { cwd, stdio: [stdin, 'pipe', 'pipe'], env: { npm_config_offline: 'true' } })
}

async function serves (world: World): Promise<void> {
  const page = await eventually(() => fetch(`${world.url}/`).then(response => response.text(), () => undefined), 'the page', 60_000)
  if (!page.includes('<title>')) throw new Error('That is no page')
}

async function stopped (t: Test, world: World, running: Running): Promise<void> {
  t.match(await world.run(['stop']), { code: 0 })
  t.match(await running.finished, { code: 0, stdout: '' })
}

async function servesUntilStopped (t: Test, command: string): Promise<void> {
  const world = await freshFolder(t)
  const running = start(world, command, 'ignore')
  await serves(world)
  await stopped(t, world, running)
}

async function fromClone (t: Test, command: string): Promise<void> {
  const world = await createWorld(t)
  const left = new Set(['node_modules', '.git', 'dist', '.tap', 'reports', '.wrangler', 'coverage'])
  cpSync(root, join(world.home, 'clone'), { recursive: true, filter: source => !left.has(source.slice(root.length + 1)) })
  symlinkSync(join(root, 'node_modules'), join(world.home, 'clone/node_modules'))
  const running = start(world, command, 'ignore', 'clone')
  await serves(world)
  t.match(await world.run(['stop']), { code: 0 })
  t.match(await running.finished, { code: 0 })
}

/** Whatever is said of the queue or of the clients, a queue is there to say it of. */
async function runsToItsEnd (t: Test, command: string): Promise<void> {
  const world = await freshFolder(t)
  const daemon = world.start(['serve'])
  await daemon.opened()
  const { code, stderr }: Finished = await start(world, command, 'ignore').finished
  t.equal(code, 0, stderr)
}

/** What is said to whoever has said first that there are to be tokens. */
async function afterInit (t: Test, command: string): Promise<void> {
  const world = await freshFolder(t)
  t.match(await start(world, 'npx readyroom admin init', 'ignore').finished, { code: 0 })
  t.match(await start(world, command, 'ignore').finished, { code: 0, stdout: /^rr_[\w-]{43}\n$/ })
}

const wired = new Set<string>()

/** What a client would start when it is wired by this command: it speaks MCP, and ends with its agent. */
async function startedByClient (t: Test, command: string): Promise<void> {
  const started = command.slice(command.indexOf('npx -y readyroom'))
  if (wired.has(started)) {
    t.pass('the same command has been started for another client')
    return
  }
  wired.add(started)
  const world = await freshFolder(t)
  const agent = start(world, started, 'pipe')
  await agent.initialize()
  const { id, status } = await agent.call('ask_human', { question: 'Wired?' })
  t.equal(status, 'pending')
  t.match((await world.api<{ tickets: unknown[] }>('/api/tickets')).body.tickets, [{ id, stream: FRESH }])
  await agent.call('cancel_ticket', { id })
  agent.child.stdin!.end()
  t.match(await agent.finished, { code: 0 })
  await eventually(() => world.alive().length === 0 || undefined, 'nothing to be left of it')
}

/** The address and the header that a client is given by this command. */
async function reachedOverHttp (t: Test, command: string): Promise<void> {
  const world = await createWorld(t)
  await world.start(['serve']).opened()
  const [, url = '', name = '', value = ''] = /(http:\S+) --header "([^:]+): ([^"]+)"$/.exec(command.replaceAll('8971', String(world.port))) ?? []
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', [name]: value },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ask_human', arguments: { question: 'Over HTTP?' } } })
  })
  t.equal(response.status, 200)
  t.match((await world.api<{ tickets: unknown[] }>('/api/tickets')).body.tickets, [{ stream: 'my-project', question: 'Over HTTP?' }])
}

/** The file that this writes holds a token that a start takes without a warning. */
async function makesToken (t: Test, command: string): Promise<void> {
  const world = await createWorld(t)
  t.match(await start(world, command, 'ignore').finished, { code: 0 })
  const [, token = ''] = /^READYROOM_TOKEN=(\S{24,})\n$/.exec(readFileSync(join(world.home, FRESH, '.env'), 'utf8')) ?? []
  const daemon = world.start(['serve'], { env: { READYROOM_TOKEN: token } })
  await daemon.opened()
  t.equal((await fetch(`${world.url}/api/tickets`, { headers: { authorization: `Bearer ${token}` } })).status, 200)
  t.notMatch(daemon.stderr, /guessed/)
}
