import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createWorld, SCRIPT } from '../helpers/process'
import { startAgent } from '../helpers/singleton'

// Only what is built has a door that keeps what was compiled.
t.equal(SCRIPT.length, 1, 'the product is built: npm run build')

/** An agent's whole visit with this folder for temporary files. */
async function visit (t: Parameters<typeof createWorld>[0], prepare: (tmp: string) => void) {
  const world = await createWorld(t)
  delete world.env['NODE_DISABLE_COMPILE_CACHE']
  const tmp = join(world.home, 'tmp')
  mkdirSync(tmp)
  prepare(tmp)
  const running = await startAgent(world, 'agent', { TMPDIR: tmp })
  const { result } = await running.request('tools/list', {})
  running.child.stdin!.end()
  const { stderr } = await running.finished
  const kept = readdirSync(tmp, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile()).map(({ name }) => name)
  return { tools: (result?.['tools'] as unknown[]).length, stderr, kept }
}

t.test('what the first agent\'s process compiled is kept for the next', async t => {
  const { tools, kept } = await visit(t, () => {})
  t.equal(tools, 4)
  t.not(kept.length, 0)
})

t.test('where nothing can be kept an agent is served all the same, and nothing is said of it', async t => {
  const { tools, stderr, kept } = await visit(t, tmp => {
    const name = `readyroom-compiled${process.getuid === undefined ? '' : `-${process.getuid()}`}`
    writeFileSync(join(tmp, name), '')
    chmodSync(join(tmp, name), 0o400)
  })
  t.equal(tools, 4)
  t.notMatch(stderr, /compil|cache/i)
  t.strictSame(kept, [`readyroom-compiled${process.getuid === undefined ? '' : `-${process.getuid()}`}`])
})
