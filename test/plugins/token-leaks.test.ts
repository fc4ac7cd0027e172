import { pino } from 'pino'
import t from 'tap'
import { connect } from 'node:net'
import { once } from 'node:events'
import { post, type Init } from '../contract/http-target'
import { ask, raw } from '../helpers/http'
import { listenWithRooms } from '../helpers/rooms'

t.test('no token is in a log at its most talkative, in a refusal or in a result, wherever it was put', async t => {
  const owner = 'the-owners-token-of-some-length'
  const lines: string[] = []
  const logger = pino({ level: 'trace' }, { write: line => { lines.push(line) } })
  const { origin, mint, admin } = await listenWithRooms(t, { logger, token: owner, desk: { adminApi: true }, edge: { adminApi: true } })
  const [ann, revoked] = [await mint('ann'), await mint('old')]
  await admin.run('revoke', { agent: 'old' })
  const secrets = [owner, ann, revoked]
  const answers: string[] = []
  const note = async (response: Response | Promise<Response>): Promise<void> => {
    const { status, headers } = await response
    answers.push(`${status} ${JSON.stringify([...headers])} ${await (await response).text()}`)
  }
  const paths = ['/v1/messages', '/v1/rooms', '/v1/unread', '/v1/agents', '/api/tickets', '/api/events?x=1', '/mcp', '/healthz', '/', '/nothing', '/v1/admin/list', '/v1/export']

  for (const token of secrets) {
    const authorization = `Bearer ${token}`
    for (const path of paths) {
      const query = path.includes('?') ? '&' : '?'
      // Where it belongs, and where it does not.
      await note(ask(origin, path, { headers: { authorization } }))
      await note(ask(origin, path, { headers: { authorization: token } }))
      await note(ask(origin, path, { headers: { authorization: `Basic ${token}` } }))
      await note(ask(origin, path, { headers: { authorization: `${authorization}x` } }))
      await note(ask(origin, `${path}${query}token=${token}`, { headers: { authorization } }))
      await note(ask(origin, `${path}${query}${token}=1`, { headers: { authorization } }))
      await note(ask(origin, `${path.split('?')[0]!.replace(/\/$/, '')}/${token}`, { headers: { authorization } }))
      await note(ask(origin, path, { headers: { authorization, 'x-token': token, cookie: `token=${token}`, referer: `http://x/${token}` } }))
      await note(ask(origin, path, { headers: { authorization, origin: `http://${token}.example` } }))
      await note(ask(origin, path, { ...post({ [token]: 1 }, { authorization }) as Init }))
      await note(ask(origin, path, { ...post(`{"body": "${token}`, { authorization }) as Init }))
    }
    await note(ask(origin, '/v1/whats-new', post({}, { authorization }) as Init))
    await note(ask(origin, '/v1/admin/list', post({ revoked: true }, { authorization }) as Init))
    await note(ask(origin, '/v1/admin/revoke', post({ agent: token }, { authorization }) as Init))
    await raw(Number(new URL(origin).port), `GET /v1/messages HTTP/1.1\r\nbad header ${token}\r\nauthorization: ${authorization}\r\n\r\n`)
    const socket = connect(Number(new URL(origin).port), '127.0.0.1')
    await once(socket, 'connect')
    socket.end(`POST /v1/messages HTTP/1.1\r\nhost: ${new URL(origin).host}\r\nauthorization: ${authorization}\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"bo`)
    socket.resume()
    await once(socket, 'close')
  }
  t.ok(answers.some(answer => answer.startsWith('200')) && answers.some(answer => answer.startsWith('401')) && answers.some(answer => answer.startsWith('404')))
  t.ok(lines.length > 0, 'it was talkative')
  for (const secret of secrets) {
    t.strictSame(lines.filter(line => line.includes(secret)), [], 'not in the log')
  }
  // A refusal may name what was put into an address or a body by mistake: it goes to whoever sent it, and nowhere else.
  const names = /unknown field|is not one of this Ready Room's|There is no ticket|No live token of/
  const unasked = answers.filter(answer => secrets.some(secret => answer.includes(secret)) && !names.test(answer))
  t.strictSame(unasked, [])
})
