import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import t, { type Test } from 'tap'
import { clientScripts } from '../../lib/node/client-scripts'
import { setupText } from '../../lib/room/setup-text'
import { happened, scripted, sendJson, unread } from '../helpers/client-server'
import { createWorld, type World } from '../helpers/process'

const CLAUDE = join(process.env['READYROOM_TEST_CLIENTS'] ?? '', 'node_modules/.bin/claude')

/** A model that says one word, as a stream of the Messages API. */
const SPEECH = [
  {
    type: 'message_start',
    message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } }
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'done' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 1 } },
  { type: 'message_stop' }
].map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')

/** Claude Code in a folder, asked for one turn. Gives what the model was sent, and what the room was asked. */
async function turn (t: Test, setUp: (cwd: string, world: World, url: string) => Promise<Record<string, string>>) {
  const world = await createWorld(t)
  let cursor = 0
  const room = await scripted(t, ({ path, body }, response) => {
    if (path === '/v1/cursor') cursor = (body as { through: number }).through
    sendJson(response, path === '/v1/unread' ? unread([happened(1, { body: 'a word from beta' })].filter(() => cursor === 0)) : {})
  })
  const model = await scripted(t, ({ path }, response) => {
    if (path !== '/v1/messages') return sendJson(response, {}, 404)
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(SPEECH)
  })
  const cwd = join(world.home, 'my repo [v2] (x)')
  mkdirSync(join(cwd, '.claude'), { recursive: true })
  const env = await setUp(cwd, world, room.url)
  const child = spawn(CLAUDE, ['-p', 'go on'], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 90_000,
    env: {
      HOME: world.home,
      PATH: [join(process.execPath, '..'), process.env['PATH']].join(delimiter),
      DISABLE_AUTOUPDATER: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      ANTHROPIC_BASE_URL: model.url,
      ANTHROPIC_API_KEY: 'none',
      READYROOM_STATE_DIR: join(world.home, 'marks'),
      ...env
    }
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', piece => { said += piece })
  await once(child, 'close')
  t.comment(said)
  return { asked: JSON.stringify(model.asked.map(({ body }) => body)), paths: room.paths() }
}

const skip = !existsSync(CLAUDE) && 'claude is not installed there'

t.test('what the hook says reaches the model that Claude Code asks', { skip }, async t => {
  const { asked, paths } = await turn(t, async (_cwd, world, url) => {
    t.match(await world.run(['setup', 'hook', '--write']), { code: 0 })
    return { READYROOM_URL: url, READYROOM_AGENT_TOKEN: 'rr_test' }
  })
  t.match(asked, 'a word from beta')
  t.match(asked, /1 thing has happened in the room main/)
  t.match(paths, ['GET /v1/unread'])
  t.ok(paths.includes('POST /v1/cursor'), 'and it is not told again')
})

t.test('the settings that the admin page shows start the hook without a shell, in a folder with spaces and brackets', { skip }, async t => {
  const { hook } = await clientScripts()
  const { asked } = await turn(t, async (cwd, _world, url) => {
    const { routes: [route] } = setupText({
      agent: 'alpha', role: 'agent', home: 'main', rooms: [], all_rooms: false, lanUrl: url, publicUrl: '', origin: url, hookSha256: hook.sha256
    })
    writeFileSync(join(cwd, '.claude/readyroom-hook.mjs'), hook.text)
    writeFileSync(join(cwd, '.claude/settings.local.json'), route!.hook_settings!)
    return {}
  })
  t.match(asked, 'a word from beta')
})
