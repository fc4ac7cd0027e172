import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { parse } from 'yaml'
import type { Ticket } from '../../schemas/ticket'
import { boxesIn } from '../helpers/docs'
import { createWorld, SCRIPT, type World } from '../helpers/process'
import { isThere } from '../helpers/proxy'
import { testFolder } from '../helpers/folder'

const run = promisify(execFile)
const PAGE = 'docs/operations.md'
const HEAD = /\b[0-9a-f]{64}\b/

interface Traefik {
  routers: Record<string, { middlewares: string[], service: string }>
  middlewares: Record<string, { redirectRegex?: { regex: string, replacement: string }, stripPrefix?: { prefixes: string[] } }>
  services: Record<string, object>
}

async function ask ({ url }: World, question: string): Promise<string> {
  const response = await fetch(`${url}/mcp/somebody`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', origin: url },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ask_human', arguments: { question } } })
  })
  const { result } = await response.json() as { result: { structuredContent: { id: string } } }
  return result.structuredContent.id
}

/** Runs a box of the page as it stands, where `readyroom` is the built product. */
async function runBox (world: World, box: string, more: Record<string, string> = {}): Promise<string> {
  const bin = join(world.home, 'bin')
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, 'readyroom'), `#!/bin/sh\nexec '${process.execPath}' ${SCRIPT.map(part => `'${part}'`).join(' ')} "$@"\n`, { mode: 0o755 })
  const { stdout } = await run('bash', ['-euc', box], { cwd: world.home, env: { ...world.env, ...more, PATH: `${bin}:${world.env['PATH']}` } })
  return stdout
}

t.test('a backup made while it runs holds, and restored into a new folder it has every ticket', async t => {
  const [backup, restore] = boxesIn(PAGE, 'sh')
  const world = await createWorld(t)
  const daemon = world.start(['serve'])
  await daemon.opened()
  const [first, second] = [await ask(world, 'Before the backup?'), await ask(world, 'Still pending?')]
  await world.api('/api/answer', { id: first, answer: 'Yes.' })

  // More is enqueued all the time that the copy is made.
  const enough = new AbortController()
  const later = (async () => { while (!enough.signal.aborted) await ask(world, 'Meanwhile?') })()
  const verified = await runBox(world, backup!, { READYROOM_STATE_DIR: world.stateDir })
  enough.abort()
  await later
  t.match(verified, /The audit log holds/)
  t.match(verified, HEAD)
  daemon.kill('SIGTERM')
  await daemon.finished

  const [prepare, serve] = restore!.trim().split(/\n(?=READYROOM)/)
  t.equal(serve, 'READYROOM_STATE_DIR=restored readyroom serve')
  await runBox(world, prepare!)
  const restored = join(world.home, 'restored')
  t.equal(statSync(restored).mode & 0o777, 0o700)
  t.equal(statSync(join(restored, 'audit.jsonl')).mode & 0o777, 0o600)
  const again = world.start(['serve'], { env: { READYROOM_STATE_DIR: restored } })
  await again.opened()
  const { body } = await world.api<{ tickets: Ticket[] }>('/api/tickets')
  const by = (id: string): Ticket | undefined => body.tickets.find(ticket => ticket.id === id)
  t.match(by(first), { status: 'answered', answer: 'Yes.' })
  t.match(by(second), { status: 'pending' })
  t.match(await world.api('/api/answer', { id: second, answer: 'After all.' }), { status: 200 })
  const check = await world.run(['audit', '--verify', '--head', HEAD.exec(verified)![0]], { env: { READYROOM_STATE_DIR: restored } })
  t.match(check, { code: 0 }, 'the head that was noted is in what grew from it')
})

t.test('the unit is one that systemd takes, and starts what it says', async t => {
  const unit = boxesIn(PAGE, 'ini')[0]!
  const folder = testFolder(t)
  const program = /^ExecStart=(\S+) serve$/m.exec(unit)?.[1]
  t.equal(program, '/usr/local/bin/readyroom')
  const there = join(folder, 'program')
  writeFileSync(there, '#!/bin/sh\n', { mode: 0o755 })
  writeFileSync(join(folder, 'readyroom.service'), unit.replace(program!, there))
  if (isThere('systemd-analyze', '--version')) {
    // It also looks at the other units of the machine, about which nothing is asked here.
    const complaint = (name: string): string => execFileSync('bash', ['-c', 'systemd-analyze verify --user --man=no "$1" 2>&1 || true', 'bash', join(folder, name)], {
      encoding: 'utf8', env: { ...process.env, XDG_RUNTIME_DIR: folder, HOME: folder }
    }).split('\n').filter(line => line.includes(name)).join('\n')
    t.equal(complaint('readyroom.service'), '')
    writeFileSync(join(folder, 'broken.service'), unit.replace('Restart=on-failure', 'Restart=sometimes'))
    t.match(complaint('broken.service'), /sometimes/, 'it does look')
  } else {
    t.comment('systemd-analyze is not here: only the sections are looked at')
  }
  t.strictSame(unit.match(/^\[\w+\]$/gm), ['[Unit]', '[Service]', '[Install]'])
})

t.test('the property list is well-formed, in pairs, and starts the same', async t => {
  const plist = boxesIn(PAGE, 'xml')[0]!
  const folder = testFolder(t)
  writeFileSync(join(folder, 'readyroom.plist'), plist)
  if (isThere('xmllint', '--version')) execFileSync('xmllint', ['--noout', '--nonet', join(folder, 'readyroom.plist')])
  else t.comment('xmllint is not here: only the pairs are looked at')
  // A dictionary is a key and a value, over and over; the value is one element with what is in it.
  const dictionary = (text: string): string[] => {
    const keys: string[] = []
    const value = /^\s*(<(true|false)\/>|<(string|array|dict)>[\s\S]*?<\/\3>)/
    let rest = text.trim()
    while (rest !== '') {
      const key = /^<key>([^<]+)<\/key>/.exec(rest)
      const after = key === null ? undefined : rest.slice(key[0].length)
      const taken = after === undefined ? null : value.exec(after)
      if (key === null || taken === null) throw new Error(`No pair: ${rest.slice(0, 80)}`)
      keys.push(key[1]!)
      rest = after!.slice(taken[0].length).trim()
    }
    return keys
  }
  const body = /<plist version="1\.0">\s*<dict>([\s\S]*)<\/dict>\s*<\/plist>\s*$/.exec(plist)![1]!
  t.strictSame(dictionary(body), ['Label', 'ProgramArguments', 'RunAtLoad', 'KeepAlive', 'StandardErrorPath'])
  t.match(plist, /readyroom\.mjs<\/string>\s*<string>serve<\/string>/)
})

t.test('the file for Traefik takes the prefix off and leads to the loopback', async t => {
  const { http } = parse(boxesIn(PAGE, 'yaml')[0]!) as { http: Traefik }
  const router = http.routers['readyroom']!
  t.strictSame(router.middlewares, Object.keys(http.middlewares), 'the slash is added before the prefix is gone')
  t.ok(http.services[router.service])
  const { regex, replacement } = http.middlewares['readyroom-slash']!.redirectRegex!
  const redirect = (url: string): string => url.replace(new RegExp(regex), replacement.replace('${1}', '$1')) // eslint-disable-line no-template-curly-in-string
  t.equal(redirect('https://desk.example/ready'), 'https://desk.example/ready/')
  t.equal(redirect('https://desk.example/ready/api/tickets'), 'https://desk.example/ready/api/tickets')
  t.strictSame(http.middlewares['readyroom-prefix']!.stripPrefix, { prefixes: ['/ready'] })
})

t.test('the page of operations speaks of nothing that is not there', async t => {
  const text = readFileSync(PAGE, 'utf8')
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  const named = [...text.matchAll(/npm run ([\w:]+)/g)].map(match => match[1]!)
  t.ok(named.length > 0)
  for (const script of named) t.ok(script in scripts, script)
  for (const [, file] of text.matchAll(/\]\((?!https?:)([^)#]+)\)/g)) t.ok(statSync(join('docs', file!)).isFile(), file!)
})
