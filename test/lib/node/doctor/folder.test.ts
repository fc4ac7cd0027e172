import { chmodSync, existsSync, rmSync, statfsSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { mend } from '../../../../lib/node/doctor/mend'
import type { Scene } from '../../../../lib/node/doctor/scene'
import { healthy, illnesses } from '../../../helpers/scene'

const disk = (scene: Scene, more: object): Scene => ({ ...scene, statfs: path => ({ ...scene.statfs(path), ...more }) })

t.test('a folder that is not there yet is no trouble, and is not made by looking', async t => {
  const { scene, stateDir } = await healthy(t)
  rmSync(stateDir, { recursive: true })
  t.strictSame(await illnesses(scene), [])
  t.notOk(existsSync(stateDir))
})

t.test('a file in its place, or a folder of somebody else, fails with the command that mends it', async t => {
  const { scene, stateDir } = await healthy(t)
  t.match(await illnesses({ ...scene, uid: 12_345 }), [new RegExp(`^fail state-folder: .* belongs to another user .* -> sudo chown -R 12345 ${stateDir}$`)])
  rmSync(stateDir, { recursive: true })
  writeFileSync(stateDir, '')
  t.match((await illnesses(scene))[0], /^fail state-folder: .* is no folder/)
})

t.test('modes that let others in are found and mended', async t => {
  const { scene, stateDir } = await healthy(t)
  writeFileSync(join(stateDir, 'audit.jsonl'), '')
  chmodSync(join(stateDir, 'audit.jsonl'), 0o644)
  chmodSync(stateDir, 0o755)
  t.match(await illnesses(scene), [/^warn folder-modes: Others can get at the folder itself, audit\.jsonl.* -> readyroom doctor --fix$/])
  t.strictSame(await mend(scene), [`${stateDir} is for you alone now.`, `${join(stateDir, 'audit.jsonl')} is for you alone now.`])
  t.strictSame(await illnesses(scene), [])
  t.strictSame(await mend(scene), [], 'and there is nothing more to mend')
})

t.test('a disk that fills up is warned about, and one that is full fails', async t => {
  const { scene } = await healthy(t)
  t.match(await illnesses(disk(scene, { bavail: 25_000 })), [/^warn folder-space: Only 98 MiB are free/])
  t.match(await illnesses(disk(scene, { bavail: 100 })), [/^fail folder-space: Only 0 MiB are free/])
  t.match(await illnesses(disk(scene, { ffree: 0 })), [/^fail folder-space: .*no free inodes/])
  t.strictSame(await illnesses(disk(scene, { files: 0, ffree: 0 })), [], 'a file system that counts none has none to lack')
})

t.test('a folder on a network, or in what does not last, is warned about', async t => {
  const { scene } = await healthy(t)
  const linux = { ...scene, place: { ...scene.place, platform: 'linux' as const } }
  for (const [type, name] of [[0x6969, 'NFS'], [0xfe534d42, 'SMB'], [0x01021997, '9P']] as const) t.match(await illnesses(disk(linux, { type })), [`warn folder-kind: The folder is on a network (${name}`])
  for (const type of [0x01021994, 0x794c7630]) t.match(await illnesses(disk(linux, { type })), [/^warn folder-kind: .*gone with it/])
  t.ok(Number.isInteger(statfsSync('/').type), 'which is how the system tells')
})

t.test('what was set aside is shown until it is moved away', async t => {
  const { scene, stateDir } = await healthy(t)
  writeFileSync(join(stateDir, 'audit.jsonl.torn-2026-11-30T12-00-00.000Z'), 'x', { mode: 0o600 })
  writeFileSync(join(stateDir, 'tickets.json.damaged-2026-11-30T12-00-00.000Z'), 'x', { mode: 0o600 })
  t.match(await illnesses(scene), [/^warn set-aside: 2 files .*torn-2026.*damaged-2026/])
  t.strictSame(await mend(scene), [], 'nobody but the person decides about it')
})

t.test('what an interrupted write has left is removed, what may be written now is not', async t => {
  const { scene, stateDir } = await healthy(t)
  const [old, young] = ['tickets.json.tmp', 'daemon.json.tmp'].map(name => join(stateDir, name)) as [string, string]
  for (const path of [old, young]) writeFileSync(path, 'x', { mode: 0o600 })
  utimesSync(old, new Date(), new Date(Date.now() - 120_000))
  t.match(await illnesses(scene), [/^warn leftovers: 1 file .*: tickets\.json\.tmp\./])
  t.strictSame(await mend(scene), [`${old} is removed.`])
  t.strictSame([existsSync(old), existsSync(young)], [false, true])
  t.strictSame(await illnesses(scene), [])
})
