import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Ticket } from '../../schemas/ticket'
import { buildImage, containerAt, docker, hostFolder, must, runContainer, runShell, runWithAgent, TOKEN, type Container } from '../helpers/container'
import { boxesIn } from '../helpers/docs'
import { eventually, freePort } from '../helpers/process'

t.setTimeout(600_000)
const image = await buildImage(t)

async function ask (container: Container, question: string): Promise<string> {
  const { body } = await container.api<{ result: { structuredContent: { id: string } } }>('/mcp/somebody', {
    jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ask_human', arguments: { question } }
  })
  return body.result.structuredContent.id
}

/** Who the first process is, as the kernel has it: the real, effective, saved and file system user and group. */
async function firstProcess (container: Container): Promise<{ uid: number[], gid: number[], groups: string, capabilities: string, name: string }> {
  const { stdout } = await container.exec('cat', '/proc/1/status')
  const field = (name: string): string => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(stdout)?.[1]?.trim() ?? ''
  const numbers = (name: string): number[] => field(name).split(/\s+/).map(Number)
  return { uid: numbers('Uid'), gid: numbers('Gid'), groups: field('Groups'), capabilities: field('CapEff'), name: field('Name') }
}

async function stop (container: Container): Promise<{ ms: number, code: string }> {
  const start = performance.now()
  await must('stop', '-t', '30', container.id)
  return { ms: performance.now() - start, code: await container.inspect('{{.State.ExitCode}}') }
}

t.test('detached, read-only, on a folder that Docker made: it serves, is not root, and comes back with its queue', async t => {
  const state = join(hostFolder(t), '.state')
  const container = await runContainer(t, image, ['--read-only', '-v', `${state}:/app/.state`])
  await container.answers()

  const { uid, gid, groups, capabilities, name } = await firstProcess(container)
  t.strictSame(uid, [1000, 1000, 1000, 1000])
  t.strictSame(gid, [1000, 1000, 1000, 1000])
  t.equal(groups, '1000')
  t.equal(Number(`0x${capabilities}`), 0)
  t.notOk(['sh', 'setpriv'].includes(name), 'a signal to the container is a signal to Ready Room')
  t.match(statSync(state), { uid: 1000, gid: 1000 })
  t.equal(statSync(state).mode & 0o777, 0o700)
  t.match(statSync(join(state, 'audit.jsonl')), { uid: 1000 })

  t.equal((await fetch(`${container.url}/api/tickets`)).status, 401, 'the token is asked for')
  const id = await ask(container, 'Shall it come back?')
  const before = await stop(container)
  t.equal(before.code, '0')
  t.ok(before.ms < 5_000, `stopped in ${Math.round(before.ms)} ms`)

  await must('start', container.id)
  await container.answers()
  const { body } = await container.api<{ tickets: Ticket[] }>('/api/tickets')
  t.match(body.tickets, [{ id, question: 'Shall it come back?', stream: 'somebody', status: 'pending' }])
  t.match(await container.api('/api/answer', { id, answer: 'It has.' }), { status: 200, body: { status: 'answered' } })
  t.equal((await stop(container)).code, '0')
  t.notMatch(await container.logs(), new RegExp(TOKEN))
})

t.test('the health check turns healthy, and says what is wrong once nothing answers', async t => {
  const container = await runContainer(t, image, ['--health-interval', '1s', '--health-retries', '1', '--health-start-period', '0s'])
  await eventually(async () => await container.inspect('{{.State.Health.Status}}') === 'healthy' || undefined, 'healthy', 60_000)
  t.equal((await container.exec('node', '/app/health.mjs')).code, 0)
  t.equal(await must('inspect', '-f', '{{.Config.Healthcheck.Timeout}}', image), '10s')
  const deaf = await docker('exec', '-e', 'READYROOM_PORT=1', container.id, 'node', '/app/health.mjs')
  t.match(deaf, { code: 1, stdout: /ECONNREFUSED/ })
})

t.test('without a token it does not start, and says which variable is missing', async t => {
  t.match(await docker('run', '--rm', image), { code: 1, stdout: '', stderr: /READYROOM_BIND is "0\.0\.0\.0".*READYROOM_TOKEN/ })
})

t.test('an agent over `docker run -i` finds MCP on standard input and output, and the end of it is the end of the container', async t => {
  const state = hostFolder(t)
  const agent = runWithAgent(t, 'run', '--rm', '-i', '-v', `${state}:/app/.state`, '-e', `READYROOM_TOKEN=${TOKEN}`, '-e', 'READYROOM_STREAM=piped', image)
  await agent.initialize()
  const { status } = await agent.call('ask_human', { question: 'Over a pipe?' })
  t.equal(status, 'pending')
  t.match(await agent.call('list_pending', {}), { tickets: [{ stream: 'piped', question: 'Over a pipe?' }] })
  const start = performance.now()
  agent.child.stdin!.end()
  t.match(await agent.finished, { code: 0 })
  t.ok(performance.now() - start < 8_000)
  t.match(readFileSync(join(state, 'audit.jsonl'), 'utf8'), /Over a pipe\?/)
  t.notOk(existsSync(join(state, 'linger.log')), 'no successor is begun, which would end with the container')
})

t.test('an agent over `docker exec -i` joins the queue of the running container, as the same user', async t => {
  const container = await runContainer(t, image)
  await container.answers()
  const agent = runWithAgent(t, 'exec', '-i', '-e', 'READYROOM_STREAM=inside', container.id, 'readyroom')
  await agent.initialize()
  await agent.call('ask_human', { question: 'From inside?' })
  t.match((await container.api<{ tickets: Ticket[] }>('/api/tickets')).body.tickets, [{ stream: 'inside' }])
  agent.child.stdin!.end()
  t.match(await agent.finished, { code: 0 })
  t.match(await container.exec('readyroom', 'status', '--json'), { code: 0, stdout: /"running":true/ })
  t.match(await container.exec('readyroom', 'audit', '--verify'), { code: 0 })
})

t.test('it starts as another user, without any capability and with an init before it', async t => {
  const state = hostFolder(t)
  chownSync(state, 4321, 4321)
  const container = await runContainer(t, image, [
    '--user', '4321:4321', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', '--read-only', '--init', '-v', `${state}:/app/.state`
  ])
  await container.answers()
  await ask(container, 'As somebody else?')
  t.match(statSync(join(state, 'audit.jsonl')), { uid: 4321, gid: 4321 })
  t.match(await stop(container), { code: '0' })
})

t.test('--user 1000:1000 needs no folder of its own: a named volume belongs to it', async t => {
  const volume = `readyroom-test-${process.pid}`
  t.teardown(() => docker('volume', 'rm', '-f', volume))
  const container = await runContainer(t, image, ['--user', '1000:1000', '--cap-drop', 'ALL', '-v', `${volume}:/app/.state`])
  await container.answers()
  await ask(container, 'In a volume?')
  t.match(await stop(container), { code: '0' })
  await must('rm', container.id)
})

t.test('root that may not become another user is refused with both remedies, and the three capabilities are enough', async t => {
  const state = hostFolder(t)
  const refused = await docker('run', '--rm', '--cap-drop', 'ALL', '-e', `READYROOM_TOKEN=${TOKEN}`, '-v', `${state}:/app/.state`, image)
  t.match(refused, { code: 1, stdout: '', stderr: /--user 1000:1000.*--cap-add SETUID --cap-add SETGID --cap-add CHOWN/ })
  const container = await runContainer(t, image, [
    '--cap-drop', 'ALL', '--cap-add', 'SETUID', '--cap-add', 'SETGID', '--cap-add', 'CHOWN', '--read-only', '-v', `${state}:/app/.state`
  ])
  await container.answers()
  t.strictSame((await firstProcess(container)).uid, [1000, 1000, 1000, 1000])
})

t.test('of a folder with more in it, the queue alone is handed over', async t => {
  const state = hostFolder(t)
  for (const name of ['audit.jsonl', 'daemon.lock']) writeFileSync(join(state, name), '', { mode: 0o600 })
  writeFileSync(join(state, 'letter.txt'), 'mine', { mode: 0o600 })
  mkdirSync(join(state, 'photos'))
  const container = await runContainer(t, image, ['-v', `${state}:/app/.state`])
  await container.answers()
  t.match(lstatSync(join(state, 'audit.jsonl')), { uid: 1000 })
  for (const name of ['letter.txt', 'photos']) t.match(lstatSync(join(state, name)), { uid: 0 }, name)
})

t.test('a folder that cannot be handed over is named, with what to do', async t => {
  const state = hostFolder(t)
  chmodSync(state, 0o755)
  const { code, stderr } = await docker('run', '--rm', '-e', `READYROOM_TOKEN=${TOKEN}`, '-v', `${state}:/app/.state:ro`, image)
  t.equal(code, 1)
  t.match(stderr, /\/app\/\.state.*chown it outside/)
  t.match(stderr, /READYROOM_STATE_DIR/)
})

t.test("the README's commands, in an empty folder, give a Ready Room that asks for the token they made", async t => {
  const folder = hostFolder(t)
  const port = await freePort()
  const name = `readyroom-readme-${process.pid}`
  const box = boxesIn('README.md', 'sh').find(text => text.includes('docker run'))!
  t.teardown(() => docker('rm', '-f', '-v', name))
  const script = box
    .replace('ghcr.io/therebelrobot/readyroom:latest', image)
    .replace('--name readyroom', `--name ${name}`)
    .replace('127.0.0.1:8971:', `127.0.0.1:${port}:`)
  t.match(await runShell(t, `cd ${folder} && set -e\n${script}`, {}).finished, { code: 0 })
  const url = `http://127.0.0.1:${port}`
  await containerAt(name, url).answers()
  const token = readFileSync(join(folder, '.env'), 'utf8').trim().replace('READYROOM_TOKEN=', '')
  t.equal((await fetch(`${url}/api/tickets`)).status, 401)
  t.equal((await fetch(`${url}/api/tickets`, { headers: { authorization: `Bearer ${token}` } })).status, 200)
  t.match(statSync(join(folder, '.state/audit.jsonl')), { uid: 1000 })
})

t.test('what is in the image is the product and nothing else', async t => {
  const files = (await must('run', '--rm', '--entrypoint', 'find', image, '/app', '-type', 'f', '-printf', '%P\n')).split('\n').sort()
  for (const name of ['LICENSE', 'health.mjs', 'readyroom.mjs', 'public/index.html']) t.ok(files.includes(name), name)
  t.notOk(files.some(name => /\.ts$|^\.state\/|node_modules|\.env|worker/.test(name.replace(/\.d\.ts$/, ''))), files.join(' '))
  t.comment(`image: ${Math.round(Number(await must('inspect', '-f', '{{.Size}}', image)) / 1e6)} MB, with its base`)
})

t.test('the compose file serves on the loopback alone, asks for its token, and keeps the queue beside it', async t => {
  const folder = hostFolder(t)
  const name = 'ghcr.io/therebelrobot/readyroom:latest'
  const port = await freePort()
  const project = `readyroom-test-${process.pid}`
  const text = readFileSync('docker/compose.yaml', 'utf8')
  t.match(text, `image: ${name}`)
  t.match(text, '"127.0.0.1:8971:8971"')
  writeFileSync(join(folder, 'compose.yaml'), text.replace(name, image).replace('127.0.0.1:8971:', `127.0.0.1:${port}:`).replace('container_name: readyroom', `container_name: ${project}`))
  const compose = async (args: string[], env: Record<string, string> = { READYROOM_TOKEN: TOKEN }): Promise<{ code: number, stderr: string }> => {
    const way = (await docker('compose', 'version')).code === 0 ? 'docker compose' : 'docker-compose'
    const running = runShell(t, `${way} -p ${project} -f ${join(folder, 'compose.yaml')} ${args.join(' ')}`, env)
    const { code, stderr } = await running.finished
    return { code: code ?? 1, stderr }
  }
  t.teardown(() => compose(['down', '-v']))
  t.match(await compose(['up', '-d'], {}), { code: /[^0]/, stderr: /set READYROOM_TOKEN/ })
  const up = await compose(['up', '-d'])
  t.equal(up.code, 0, up.stderr)
  const container = containerAt(project, `http://127.0.0.1:${port}`)
  await container.answers()
  await ask(container, 'From a compose file?')
  t.ok(existsSync(join(folder, 'readyroom-state/audit.jsonl')))
  t.match(await container.exec('cat', '/proc/1/status'), { stdout: /^Uid:\s+1000/m })
  t.match(await stop(container), { code: '0' })
})
