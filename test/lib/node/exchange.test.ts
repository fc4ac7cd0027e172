import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import t from 'tap'
import { exchange, LinkError, localHosts, onThisMachine } from '../../../lib/node/exchange'
import { freePort } from '../../helpers/process'
import { squat } from '../../helpers/squatter'

const call = (port: number, more: Partial<Parameters<typeof exchange>[0]> = {}) =>
  exchange({ host: '127.0.0.1', port, method: 'GET', path: '/', timeoutMs: 5_000, ...more })

/** A program that takes a connection and does with it what `then` says. */
async function raw (t: { teardown (close: () => unknown): void }, then: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    then(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return (server.address() as AddressInfo).port
}

t.test('an answer is read whole, and a body is sent as JSON', async t => {
  const { port, heard } = await squat(t, 0, () => ({ status: 409, body: '{"größe":1}' }))
  const answer = await call(port, { method: 'POST', path: '/a?b=c', body: '{"ä":1}', headers: { 'x-one': '1' } })
  t.match(answer, { status: 409, body: '{"größe":1}', headers: { 'content-type': 'application/json' } })
  t.match(heard, [{ url: '/a?b=c', body: '{"ä":1}', headers: { 'x-one': '1', 'content-type': 'application/json' } }])
})

t.test('why there is no answer is told apart', async t => {
  const failure = (failure: string) => ({ name: 'LinkError', failure })
  await t.rejects(call(await freePort()), failure('refused'))
  await t.rejects(call(await raw(t, () => {}), { timeoutMs: 30 }), failure('silent'))
  await t.rejects(call(await raw(t, socket => socket.once('data', () => socket.resetAndDestroy()))), failure('broken'))
  await t.rejects(call(await raw(t, socket => socket.end('220 mail.example ESMTP\r\n'))), failure('broken'))
  await t.rejects(call(await raw(t, socket => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'))), failure('broken'))
  const half = await raw(t, socket => { socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf') })
  await t.rejects(call(half, { timeoutMs: 50 }), failure('silent'))
})

t.test('an answer without end is cut off', async t => {
  const port = await raw(t, socket => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    const more = (): void => {
      while (!socket.destroyed && socket.write('x'.repeat(65_536)));
    }
    socket.on('drain', more)
    more()
  })
  await t.rejects(call(port), { name: 'LinkError', failure: 'broken', message: /over 16777216 bytes/ })
})

t.test('an aborted call ends at once, with the reason', async t => {
  const port = await raw(t, () => {})
  const given = new AbortController()
  const made = call(port, { signal: given.signal })
  given.abort(new Error('no longer wanted'))
  await t.rejects(made, { message: 'no longer wanted' })
  await t.rejects(call(port, { signal: AbortSignal.abort(new Error('never wanted')) }), { message: 'never wanted' })
})

t.test('every address of this machine is asked, our own first, and no wildcard', async t => {
  t.same(localHosts('0.0.0.0').slice(0, 2), ['127.0.0.1', '::1'])
  t.same(localHosts('::').slice(0, 2), ['127.0.0.1', '::1'])
  t.same(localHosts('192.0.2.9').slice(0, 3), ['192.0.2.9', '127.0.0.1', '::1'])
  t.equal(localHosts('127.0.0.1').filter(host => host === '127.0.0.1').length, 1)
  t.notMatch(localHosts('::').join(), /%|0\.0\.0\.0/)
})

t.test('whoever answers first is taken; a silent one is not passed over, and a strange one is remembered', async t => {
  const fail = (failure: 'refused' | 'silent' | 'broken') => { throw new LinkError(failure, failure) }
  t.equal(await onThisMachine('127.0.0.1', async host => host === '::1' ? host : fail('broken')), '::1')
  await t.rejects(onThisMachine('127.0.0.1', async () => fail('refused')), { name: 'LinkError', failure: 'refused' })
  await t.rejects(onThisMachine('127.0.0.1', async host => fail(host === '127.0.0.1' ? 'broken' : 'refused')), { name: 'LinkError', failure: 'broken' })
  const asked: string[] = []
  await t.rejects(onThisMachine('127.0.0.1', async host => { asked.push(host); return fail('silent') }), { name: 'LinkError', failure: 'silent' })
  t.same(asked, ['127.0.0.1'])
  await t.rejects(onThisMachine('127.0.0.1', async () => { throw new TypeError('ours') }), { name: 'TypeError' })
})
