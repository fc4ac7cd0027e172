import { spawn } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { command, emptyFolder, install, NODES, provide, ROOT } from '../helpers/packed'
import { Running } from '../helpers/process'

/** The example as a person would have it, with the packed product in it. */
async function example (t: Test): Promise<string> {
  const folder = emptyFolder(t)
  cpSync(join(ROOT, 'examples/fastify-app'), folder, { recursive: true })
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  // What a registry would give is put beside it afterwards.
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...manifest, dependencies: {}, devDependencies: {} }))
  const { code, stderr } = await install(folder)
  t.equal(code, 0, stderr)
  provide(folder, 'fastify', '@types/node')
  return folder
}

t.test('the example and the types say the same: they compile for somebody who has Fastify and Node\'s types only', async t => {
  const folder = await example(t)
  cpSync(join(ROOT, 'test/package/fixture/types.ts'), join(folder, 'types.ts'))
  for (const moduleResolution of ['nodenext', 'bundler']) {
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({
      compilerOptions: {
        module: moduleResolution === 'bundler' ? 'esnext' : moduleResolution,
        moduleResolution,
        target: 'es2023',
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        verbatimModuleSyntax: true,
        skipLibCheck: false,
        noEmit: true,
        types: ['node']
      },
      files: ['index.ts', 'types.ts']
    }))
    const { stdout } = await command(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder, '--pretty', 'false'], { cwd: folder })
    // The declarations of others are not ours to judge; those of the package, which are checked as well, are.
    const faults = stdout.split('\n').filter(line => line !== '' && !/^\s|node_modules\/(?!readyroom\/)/.test(line))
    t.strictSame(faults, [], moduleResolution)
  }
})

t.test('the example asks a person, goes on when one has answered, and keeps its tickets over a restart', async t => {
  for (const node of NODES) {
    const folder = await example(t)
    const start = async (): Promise<{ app: Running, origin: string }> => {
      const app = new Running(spawn(node, ['--disable-warning=ExperimentalWarning', 'index.ts'], { cwd: folder, env: { PORT: '0' }, stdio: ['ignore', 'pipe', 'pipe'] }))
      t.teardown(() => { if (!app.over) app.kill('SIGKILL') })
      const origin = await app.until(({ stdout }) => /Server listening at (http:\/\/127\.0\.0\.1:\d+)/.exec(stdout)?.[1], 'the example to listen')
      return { app, origin }
    }
    const stop = async (app: Running): Promise<void> => {
      app.kill('SIGTERM')
      const { code, stderr } = await app.finished
      t.strictSame({ code, stderr }, { code: 0, stderr: '' }, 'it ends by itself when it is asked to')
    }

    const { app, origin } = await start()
    const asked = await fetch(`${origin}/releases/1.2.3`, { method: 'POST' })
    t.equal(asked.status, 202)
    const { ticket } = await asked.json() as { ticket: string }
    t.equal(await (await fetch(`${origin}/releases/1.2.3`)).text(), 'waits for a person')
    const page = await fetch(`${origin}/room/`)
    t.equal(page.status, 200)
    t.match(await page.text(), /<title>/)
    t.match(page.headers.get('content-security-policy'), /default-src 'none'/)

    const answered = await fetch(`${origin}/room/api/answer`, {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ id: ticket, answer: 'release', answered_by: 'Lea' })
    })
    t.match(await answered.json(), { id: ticket, stream: 'releases', status: 'answered', answer: 'release' })
    await app.until(({ stdout }) => stdout.split('\n').find(line => line.includes('"status":"answered"') && line.includes(ticket)), 'the host\'s own log to say so')
    t.equal(await (await fetch(`${origin}/releases/1.2.3`)).text(), 'released')
    t.equal((await fetch(`${origin}/releases/9.9.9`)).status, 404)

    const agent = await fetch(`${origin}/room/mcp/agent`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', origin },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ask_human', arguments: { question: 'And I?' } } })
    })
    t.match(await agent.json(), { result: { structuredContent: { status: 'pending' } } }, 'agents reach the same queue')
    const second = await fetch(`${origin}/releases/2.0.0`, { method: 'POST' })
    t.equal(second.status, 202)
    await stop(app)

    const again = await start()
    const { tickets } = await (await fetch(`${again.origin}/room/api/tickets`)).json() as { tickets: Array<{ stream: string, status: string }> }
    t.strictSame(tickets.filter(({ status }) => status === 'pending').map(({ stream }) => stream), ['agent', 'releases'])
    await stop(again.app)
  }
})
