import { closeSync, openSync, writeFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { isAgentOn } from '../../../lib/node/stdin'

t.test('nobody is on /dev/null or on a terminal, and somebody on a file', async t => {
  const file = join(t.testdir(), 'session')
  writeFileSync(file, '')
  for (const [path, agent] of [['/dev/null', false], ['/dev/ptmx', false], [file, true]] as const) {
    const fd = openSync(path, 'r')
    t.teardown(() => closeSync(fd))
    t.equal(isAgentOn(fd), agent, path)
  }
})

t.test('somebody is on a socket', async t => {
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  const { fd } = (socket as unknown as { _handle: { fd: number } })._handle
  t.equal(isAgentOn(fd), true)
})

t.test('nobody is on a descriptor that cannot be looked at', async t => {
  t.equal(isAgentOn(0, () => { throw new Error('EBADF') }), false)
})
