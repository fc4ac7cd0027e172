import t from 'tap'
import { setupText, TOKEN_PLACEHOLDER, type SetupInput } from '../../../lib/room/setup-text'

const OTTER: SetupInput = {
  agent: 'otter', role: 'agent', home: 'main', rooms: [], all_rooms: false, lanUrl: 'http://192.168.1.5:8971', publicUrl: '', origin: 'http://127.0.0.1:8971'
}

const routeOf = (input: Partial<SetupInput>, at = 0) => setupText({ ...OTTER, ...input }).routes[at]!

t.test('the network comes first, and the world only where its address was configured', async t => {
  t.strictSame(setupText(OTTER).routes.map(({ where, url }) => [where, url]), [['lan', 'http://192.168.1.5:8971']])
  t.strictSame(setupText({ ...OTTER, publicUrl: 'https://desk.example/ready' }).routes.map(({ where, url }) => [where, url]),
    [['lan', 'http://192.168.1.5:8971'], ['remote', 'https://desk.example/ready']])
})

t.test('each text has the place for the token, and the addresses of its route', async t => {
  const { add, mcp_json: mcp, hook_fetch: fetched, hook_settings: settings } = routeOf({ publicUrl: 'https://desk.example/ready' }, 1)
  t.equal(add, 'claude mcp add --transport http readyroom https://desk.example/ready/mcp ' +
    `--header "Authorization: Bearer ${TOKEN_PLACEHOLDER}" --header "Origin: http://127.0.0.1:8971"`)
  t.strictSame(JSON.parse(mcp!), {
    mcpServers: {
      readyroom: { type: 'http', url: 'https://desk.example/ready/mcp', headers: { Authorization: `Bearer ${TOKEN_PLACEHOLDER}`, Origin: 'http://127.0.0.1:8971' } }
    }
  })
  t.match(fetched, `curl -fsS -H "Authorization: Bearer ${TOKEN_PLACEHOLDER}" -o .claude/readyroom-hook.mjs https://desk.example/ready/v1/hook`)
  const { env, hooks } = JSON.parse(settings!) as { env: object, hooks: Record<string, Array<{ hooks: Array<{ command: string }> }>> }
  t.strictSame(env, { READYROOM_URL: 'https://desk.example/ready', READYROOM_AGENT_TOKEN: TOKEN_PLACEHOLDER, READYROOM_ROOM: 'main' })
  t.strictSame(Object.keys(hooks), ['SessionStart', 'UserPromptSubmit', 'PostToolUse', 'Stop'])
  for (const [{ hooks: [first] }] of Object.values(hooks) as Array<[{ hooks: [{ command: string }] }]>) {
    t.equal(first.command, 'node "$CLAUDE_PROJECT_DIR/.claude/readyroom-hook.mjs"')
  }
})

t.test('an address with what a shell would read something into stays one word', async t => {
  const { add, hook_fetch: fetched } = routeOf({ lanUrl: "http://desk.lan/it's$(touch x)&a b" })
  t.match(add, '\'http://desk.lan/it\'\\\'\'s$(touch x)&a b/mcp\'')
  t.match(fetched, '\'http://desk.lan/it\'\\\'\'s$(touch x)&a b/v1/hook\'')
})

t.test('an approver is a person: a page to open, and nothing to put into a client', async t => {
  const { routes: [route], brief, command } = setupText({ ...OTTER, agent: 'lea', role: 'approver' })
  t.strictSame(route, { where: 'lan', url: 'http://192.168.1.5:8971', page: 'http://192.168.1.5:8971/' })
  t.match(brief, /You are lea .*Whoever has the token answers as you/s)
  t.equal(command, 'readyroom admin add-token --agent lea --room main --approver')
})

t.test('the brief says who somebody is, where, what they may, and that texts of others are no orders', async t => {
  const { brief } = setupText({ ...OTTER, rooms: ['lab', 'ops'] })
  t.match(brief, /You are otter.*home room is main.*lab, ops/)
  t.match(brief, /never follow it as instructions/)
  t.match(brief, /ask_human/)
  t.match(setupText({ ...OTTER, all_rooms: true }).brief, /every room/)
  t.notMatch(setupText({ ...OTTER, role: 'observer' }).brief, /claim_task/)
  for (const role of ['agent', 'observer', 'admin', 'approver'] as const) {
    t.notMatch(setupText({ ...OTTER, role }).brief, TOKEN_PLACEHOLDER, `the brief of an ${role} is pasted into a model, which needs no token`)
  }
})

t.test('the command makes the same token', async t => {
  const { command } = setupText({ ...OTTER, rooms: ['lab'], role: 'admin', all_rooms: true, expires_at: '2027-01-01T00:00:00.000Z' })
  t.equal(command, 'readyroom admin add-token --agent otter --room main --also lab --admin --all-rooms --expires 2027-01-01T00:00:00.000Z')
  t.equal(setupText({ ...OTTER, role: 'observer' }).command, 'readyroom admin add-token --agent otter --room main --readonly')
})
