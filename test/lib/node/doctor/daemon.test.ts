import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { examine } from '../../../../lib/node/doctor/doctor'
import { mend } from '../../../../lib/node/doctor/mend'
import type { Scene } from '../../../../lib/node/doctor/scene'
import { type MemberOptions, member } from '../../../helpers/member'
import { freePort } from '../../../helpers/process'
import { healthy, illnesses, type Ward } from '../../../helpers/scene'
import { squat } from '../../../helpers/squatter'

const TOKEN = 'a-token-that-nobody-may-ever-see'
const OTHER = 'another-token-nobody-may-see'

async function running (t: Test, { stateDir, port }: Ward, more: Partial<MemberOptions> = {}): Promise<void> {
  await member(t, { stateDir, port, ...more }).membership.start()
}

const withEnv = (scene: Scene, env: Record<string, string>, config: Partial<Scene['config']>): Scene =>
  ({ ...scene, place: { ...scene.place, env: { ...scene.place.env, ...env } }, config: { ...scene.config, ...config } })

t.test('a daemon of the same version that runs with what is set here is well', async t => {
  const ward = await healthy(t)
  await running(t, ward)
  t.strictSame(await illnesses(ward.scene), [])
  t.match((await examine(ward.scene)).checks.filter(({ id }) => /^(?:port|daemon)/.test(id)), [{ id: 'port' }, { id: 'daemon', message: /version 1\.2\.3, pid/ }, { id: 'daemon-settings' }])
})

t.test('an older daemon is warned about, a newer one too', async t => {
  const ward = await healthy(t)
  await running(t, ward, { version: '1.0.0' })
  t.match(await illnesses(ward.scene), [/^warn daemon: The daemon is version 1\.0\.0, .* this is 1\.2\.3\..* -> readyroom stop$/])
  t.match(await illnesses({ ...ward.scene, version: '0.9.0' }), [/^warn daemon: .*this is the older 0\.9\.0\. -> npx readyroom@latest/])
})

t.test('whatever else holds the port fails, with the command that finds it', async t => {
  const { scene, port } = await healthy(t)
  const stranger = await squat(t, port, () => ({ body: 'Hello' }))
  t.match(await illnesses(scene), [new RegExp(`^fail port: Port ${port} is held by something that is not this Ready Room.* -> .*${port}`)])
  await stranger.close()
  const silent = await squat(t, port, () => undefined)
  t.match((await illnesses({ ...scene, httpMs: 100 }))[0], /^fail port: .*or does not answer/)
  await silent.close()
  await squat(t, port, () => ({ body: JSON.stringify({ readyroom: true, version: '1', protocol: 1, instance: 'x', uid: scene.uid + 1 }) }))
  t.match(await illnesses(scene), [/^fail port: .*another user's Ready Room/])
})

t.test('a Ready Room of another folder on this port fails where the folder was chosen here', async t => {
  const ward = await healthy(t)
  const other = { ...ward, stateDir: join(ward.home, 'other') }
  await running(t, other)
  const here = withEnv(ward.scene, {}, { given: { ...ward.scene.config.given, stateDir: true } })
  t.match(await illnesses(here), [new RegExp(`^fail port: .* state folder ${other.stateDir}; here READYROOM_STATE_DIR is ${ward.stateDir}.* -> READYROOM_STATE_DIR=${other.stateDir}$`)])
  t.strictSame(await illnesses(ward.scene), [], 'where it was not, that is the one meant')
})

t.test('each setting that the daemon does not run with is named; a token is never shown', async t => {
  const ward = await healthy(t)
  await running(t, ward, { token: TOKEN, allowedOrigins: ['https://desk.example'] })
  const { scene } = ward
  t.strictSame(await illnesses(withEnv(scene, { READYROOM_TOKEN: TOKEN }, { token: TOKEN })), [])
  const wrong = withEnv(scene, { READYROOM_TOKEN: OTHER }, { token: OTHER })
  t.match(await illnesses(wrong), [/^fail daemon-settings: READYROOM_TOKEN is set here to something else .* refused\. -> readyroom stop/])
  t.notMatch(JSON.stringify(await examine(wrong)), new RegExp(`${TOKEN}|${OTHER}`))
  t.match(await illnesses(withEnv(scene, { READYROOM_ORIGIN_POLICY: 'spec' }, { originPolicy: 'spec' })), [/^warn daemon-settings: READYROOM_ORIGIN_POLICY .*: spec here, strict there/])
  t.match(await illnesses(withEnv(scene, { READYROOM_BIND: '::1' }, { bind: '::1' })), [/^fail daemon-settings: READYROOM_BIND .*: ::1 here, 127\.0\.0\.1 there/])
  const port = await freePort()
  t.match(await illnesses(withEnv(scene, { READYROOM_PORT: String(port) }, { port })), [new RegExp(`^fail daemon-settings: READYROOM_PORT .* -> READYROOM_PORT=${ward.port}$`)])
})

t.test('a daemon.json that leads nowhere is found and removed; one of a daemon is not', async t => {
  const ward = await healthy(t)
  const file = join(ward.stateDir, 'daemon.json')
  const gone = { pid: 1, port: ward.port, started_at: new Date().toISOString(), instance: 'gone', secret: 'x'.repeat(64), protocol: 1 }
  for (const [content, what] of [['', 'cannot be read'], ['null', 'cannot be read'], [JSON.stringify(gone), 'leads to a process that is gone']] as const) {
    writeFileSync(file, content, { mode: 0o600 })
    t.match(await illnesses(ward.scene), [new RegExp(`^warn daemon-file: .*daemon\\.json ${what}.* -> readyroom doctor --fix$`)])
    t.strictSame(await mend(ward.scene), [`${file} is removed.`])
    t.strictSame(await illnesses(ward.scene), [])
  }
  await running(t, ward)
  t.strictSame(await mend(ward.scene), [])
  t.ok(existsSync(file))
})
