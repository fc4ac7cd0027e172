import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createWorld, type World } from '../helpers/process'
import type { AdminOutput } from '../../schemas/admin'

t.setTimeout(120_000)

/** What a command says on standard output; it must have gone well. */
async function said (world: World, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await world.run(['admin', ...args])
  if (code !== 0) throw new Error(`admin ${args.join(' ')} ended with ${code}: ${stderr}`)
  return stdout
}

const listed = async (world: World, ...args: string[]): Promise<AdminOutput<'list'>> => JSON.parse(await said(world, 'list', '--json', ...args))

for (const how of ['through the daemon', 'without one, in the folder itself']) {
  t.test(`identity and rooms are administered ${how}`, async t => {
    const world = await createWorld(t)
    if (how === 'through the daemon') await world.start(['serve']).opened()

    const early = await world.run(['admin', 'add-token', '--agent', 'ann', '--room', 'main'])
    t.match(early, { code: 1, stdout: '', stderr: /readyroom admin init/ }, 'first comes init')
    const init = await world.run(['admin', 'init'])
    t.match(init, { code: 0, stdout: /without a credential/, stderr: /READYROOM_TOKEN[^]*--approver[^]*setup CLIENT/ })
    t.match(await said(world, 'add-room', 'Ops'), /room ops is there/)
    t.match(await said(world, 'add-room', 'ops'), /room ops is there/, 'twice is fine')

    const { code, stdout, stderr } = await world.run(['admin', 'add-token', '--agent', 'Ann', '--room', 'main', '--also', 'ops', '--expires', '30d'])
    t.equal(code, 0)
    t.match(stdout, /^rr_[\w-]{43}\n$/, 'the token alone on its line')
    t.notMatch(stderr, stdout.trim())
    t.match(stderr, /token of ann \(agent, number 1\), home room main/)
    const person = JSON.parse(await said(world, 'add-token', '--agent', 'eve', '--room', 'main', '--approver', '--all-rooms', '--json'))
    t.match(person, { token: /^rr_/, id: 2, agent: 'eve', role: 'approver', all_rooms: true })

    const all = await said(world, 'list')
    t.match(all, /1 ann +agent; main, ops; since .*never used; until /)
    t.notMatch(all + JSON.stringify(await listed(world)), /rr_/, 'no token is shown again')
    t.match(await listed(world), { initialised: true, rooms: [{ room: 'main' }, { room: 'ops' }], tokens: { length: 2 } })

    t.match(await said(world, 'retention', 'ops', '30'), /keeps chat, events and files for 30 days/)
    t.match(await said(world, 'alias', 'boss', '--room', 'main', '--agent', 'ann'), /knows it/)
    t.match(await said(world, 'export', 'main'), /^\{"type":"room","room":"main"/)
    t.match(await said(world, 'export', 'main', '--format', 'md'), /^# The room main\n/)

    const file = join(world.home, 'copy.db')
    t.equal(await said(world, 'backup', '../copy.db'), `${file}\n`)
    t.equal(readFileSync(file).toString('latin1', 0, 15), 'SQLite format 3')
    t.equal(statSync(file).mode & 0o777, 0o600)
    writeFileSync(join(world.home, 'mine'), 'keep this')
    t.match(await world.run(['admin', 'backup', '../mine']), { code: 1, stderr: /there already/ })
    t.equal(readFileSync(join(world.home, 'mine'), 'utf8'), 'keep this')
    t.match(await world.run(['admin', 'backup', 'nowhere/copy.db']), { code: 1, stderr: /could not be written/ })

    t.match(await said(world, 'revoke', 'ann'), /number 1/)
    t.match(await world.run(['admin', 'revoke', '--id', '1']), { code: 1, stderr: /No live token/ })
    t.match(await said(world, 'list'), /1 revoked, shown with --revoked/)
    t.equal((await listed(world, '--revoked')).tokens.length, 2)
    t.match(await said(world, 'purge', '--older-than', '1'), /Forgotten: 0/)
    t.match(await said(world, 'purge'), /Forgotten: 1 revoked token\./)

    t.match(await world.run(['admin', 'delete-room', 'ops']), { code: 2, stderr: /--confirm ops/ })
    t.match(await world.run(['admin', 'delete-room', 'ops', '--confirm', 'main']), { code: 1, stderr: /confirm must be its name/ })
    t.match(await said(world, 'delete-room', 'ops', '--confirm', 'ops'), /room ops and all that was in it are gone/)
    t.match(await world.run(['admin', 'retention', 'ops', '1']), { code: 1, stderr: /no room "ops"/ })
    t.equal(existsSync(join(world.stateDir, 'room.db')), true)
  })
}

t.test('a token made while the daemon runs lets its agent in at once, and a revoked one no longer; an agent answers nothing', async t => {
  const world = await createWorld(t)
  await world.start(['serve']).opened()
  await said(world, 'init')
  t.equal((await world.api('/api/tickets')).status, 401, 'after init the loopback is no credential')
  const [agent, person] = [await said(world, 'add-token', '--agent', 'ann', '--room', 'main'), await said(world, 'add-token', '--agent', 'eve', '--room', 'main', '--approver')]
  const as = (token: string, path: string, body?: object) => fetch(`${world.url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token.trim()}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) })
  })
  t.equal((await as(agent, '/api/tickets')).status, 200)
  t.equal((await as(person, '/api/tickets')).status, 200)
  t.equal((await as(agent, '/api/answer', { id: '0', answer: 'yes' })).status, 403)
  await said(world, 'revoke', 'ann')
  t.equal((await as(agent, '/api/tickets')).status, 401)
})

t.test('many commands at one instant wait for each other: every token is there, each once', async t => {
  const world = await createWorld(t)
  await said(world, 'init')
  const tokens = await Promise.all(Array.from({ length: 4 }, (_, n) => said(world, 'add-token', '--agent', `a${n}`, '--room', 'main')))
  t.equal(new Set(tokens).size, 4)
  t.strictSame((await listed(world)).tokens.map(({ agent }) => agent).toSorted(), ['a0', 'a1', 'a2', 'a3'])
})

t.test('what is not understood is said, with exit code 2, and nothing is made', async t => {
  const world = await createWorld(t)
  for (const [args, message] of [
    [[], /Behind admin stands what to do, one of init, add-room/],
    [['explode'], /nothing called "explode" behind admin/],
    [['init', 'twice'], /Too many words behind admin init/],
    [['list', '--agent', 'ann'], /--agent does not go with admin list/],
    [['add-token', '--agent', 'ann'], /--agent NAME and --room ROOM/],
    [['add-token', '--agent', 'ann', '--room', 'main', '--admin', '--approver'], /one at a time/],
    [['add-token', '--agent', 'ann', '--room', 'main', '--expires', 'soon'], /--expires is "soon": .*30d, 12h/],
    [['add-token', '--agent', 'ann', '--room', 'main', '--expires', '2001-01-01'], /a time to come/],
    [['add-token', '--agent', 'ann', '--room', 'main', '--expires', '2127-02-30'], /--expires is "2127-02-30"/],
    [['retention', 'main', 'long'], /--days is "long": it must be a whole number from 0 to 36500/],
    [['export', 'main', '--format', 'pdf'], /--format is "pdf"/],
    [['backup'], /needs a file/]
  ] as const) t.match(await world.run(['admin', ...args]), { code: 2, stdout: '', stderr: message }, args.join(' '))
  t.match(await world.run(['status', '--room', 'main']), { code: 2, stderr: /--room goes with readyroom admin/ })
  t.notOk(existsSync(world.stateDir))
})
