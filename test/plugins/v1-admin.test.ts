import { pino } from 'pino'
import t, { type Test } from 'tap'
import { json, post, refused, type Init } from '../contract/http-target'
import { ask } from '../helpers/http'
import { listenWithRooms } from '../helpers/rooms'

const TOKEN = 'the-owners-token-of-some-length'
const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })

async function open (t: Test, { token, isOn = true }: { token?: string, isOn?: boolean } = {}) {
  const lines: string[] = []
  const logger = pino({ level: 'trace' }, { write: line => { lines.push(line) } })
  const room = await listenWithRooms(t, { logger, ...(token !== undefined && { token }), desk: { adminApi: isOn }, edge: { adminApi: isOn } })
  const send = (name: string, body: object, as: Record<string, string> = token === undefined ? {} : bearer(token)): Promise<Response> =>
    ask(room.origin, `/v1/admin/${name}`, post(body, as) as Init)
  return { ...room, lines, send }
}

t.test('off, there is nothing to administer over HTTP, for whoever asks', async t => {
  const { send, mint } = await open(t, { token: TOKEN, isOn: false })
  await refused(t, send('list', {}), 404, 'NOT_FOUND')
  await refused(t, send('list', {}, bearer(await mint('ann'))), 404, 'NOT_FOUND')
})

t.test('a loopback that is open to everybody is no proof that a person means it', async t => {
  const { send, rooms } = await open(t)
  await refused(t, send('init', {}), 401, 'UNAUTHORIZED', /READYROOM_TOKEN.*readyroom admin/)
  await refused(t, send('init', {}, bearer('anything')), 401, 'UNAUTHORIZED', /READYROOM_TOKEN/)
  t.notOk(rooms.isOpen)
})

t.test('the owner, or a token that administers the server, makes rooms and tokens, and ends them', async t => {
  const { send, origin } = await open(t, { token: TOKEN })
  t.match(await json(send('init', {})), { room: 'main' })
  t.match(await json(send('add-room', { room: 'Lab' })), { room: 'lab' })
  const { token, view } = await json<{ token: string, view: { id: number } }>(send('add-token', { agent: 'root', room: 'lab', role: 'admin', all_rooms: true }))
  t.match(token, /^rr_[\w-]{43}$/)
  const asRoot = (name: string, body: object): Promise<Response> => send(name, body, bearer(token))
  t.match(await json(asRoot('add-token', { agent: 'ann', room: 'lab' })), { view: { agent: 'ann', role: 'agent' } })
  t.match(await json(asRoot('list', {})), { initialised: true, tokens: [{ agent: 'root' }, { agent: 'ann' }] })
  t.match(await json(asRoot('revoke', { agent: 'ann' })), { revoked: [view.id + 1] })
  t.match(await json(asRoot('purge', {})), { purged: 1 })
  t.match(await json(asRoot('delete-room', { room: 'lab', confirm: 'lab' })), { deleted: true })
  await refused(t, asRoot('add-token', { agent: 'x', room: 'nowhere' }), 404, 'ROOM_NOT_FOUND')
  await refused(t, asRoot('backup', { file: '/tmp/x' }), 404, 'NOT_FOUND')
  await refused(t, ask(origin, '/v1/admin/list', { headers: bearer(token) }), 405, 'METHOD_NOT_ALLOWED')
})

t.test('an agent, an observer, an approver and an admin of one room may not', async t => {
  const { send, mint } = await open(t, { token: TOKEN })
  for (const role of ['agent', 'observer', 'approver', 'admin'] as const) {
    await refused(t, send('list', {}, bearer(await mint(`a-${role}`, { role }))), 403, 'FORBIDDEN_SCOPE', /server:admin/)
  }
})

t.test('each change is logged with who made it and from where, minting over the whole server is flagged, and no token is in the log', async t => {
  const { send, lines } = await open(t, { token: TOKEN })
  await send('init', {})
  const { token } = await json<{ token: string }>(send('add-token', { agent: 'root', room: 'main', role: 'admin', all_rooms: true }))
  await send('list', {}, bearer(token))
  await send('retention', { room: 'main', days: 3 }, bearer(token))
  const said = lines.map(line => JSON.parse(line) as { admin?: string }).filter(({ admin }) => admin !== undefined)
  t.match(said, [
    { admin: 'init', actor: 'human', address: '127.0.0.1' },
    { admin: 'add-token', actor: 'human', input: { agent: 'root' }, grants: 'server:admin', msg: /whole server/ },
    { admin: 'retention', actor: 'root', address: '127.0.0.1', input: { room: 'main', days: 3 } }
  ])
  t.equal(said.length, 3)
  t.notOk(lines.some(line => line.includes(token) || line.includes(TOKEN)))
})
