import t from 'tap'
import { PROTOCOL } from '../../../lib/node/daemon-file'
import { joinDaemon } from '../../../lib/node/join'
import { Link } from '../../../lib/node/link'
import { listenAsDaemon } from '../../helpers/internal'
import { configOf } from '../../helpers/member'

const soon = { timeoutMs: 5_000 }

t.test('a daemon of a later protocol is not joined, and the message says which one to upgrade', async t => {
  const asked: string[] = []
  const { file, port } = await listenAsDaemon(t, {
    release: { version: '9.0.0', protocol: PROTOCOL + 1 }, onHandOver: ({ version }) => { asked.push(version) }
  })
  const link = await Link.prove(file, '127.0.0.1', soon)
  await t.rejects(joinDaemon(link, { config: configOf({ stateDir: '/state', port }), version: '1.2.3' }), {
    name: 'RefusedError', message: /version 9\.0\.0.*version 1\.2\.3 cannot work with.*Upgrade this one/
  })
  t.same(asked, [])
})

t.test('a daemon of an earlier protocol is asked to make room, whatever its version', async t => {
  const asked = Promise.withResolvers<string>()
  const { file, port } = await listenAsDaemon(t, {
    release: { version: '9.0.0', protocol: PROTOCOL - 1 }, onHandOver: ({ version }) => { asked.resolve(version) }
  })
  const link = await Link.prove(file, '127.0.0.1', soon)
  const config = configOf({ stateDir: '/state', port })
  t.same(await joinDaemon(link, { config, version: '1.2.3' }), { handedOver: config })
  t.equal(await asked.promise, '1.2.3')
})

t.test('a daemon that goes while it is joined is lost, not refused', async t => {
  const { app, file, port } = await listenAsDaemon(t)
  const link = await Link.prove(file, '127.0.0.1', soon)
  await app.close()
  await t.rejects(joinDaemon(link, { config: configOf({ stateDir: '/state', port }), version: '1.2.3' }), { name: 'LinkError' })
})
