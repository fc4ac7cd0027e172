import t from 'tap'
import { createLog, type LogOptions } from '../../../lib/node/log'

const TOKEN = 'sec"ret\\of-the-desk'

function collect (options: Omit<LogOptions, 'to'> & { tty?: boolean, waiting?: number }) {
  const lines: string[] = []
  const to = { isTTY: options.tty ?? false, writableLength: options.waiting ?? 0, write: (line: string) => lines.push(line) > 0 }
  return { lines, log: createLog({ ...options, to: to as unknown as NodeJS.WritableStream }) }
}

t.test('a line is one JSON object with time, process and message', async t => {
  const { lines, log } = collect({})
  log.info({ port: 8971 }, 'Listening')
  t.equal(lines.length, 1)
  t.ok(lines[0]!.endsWith('\n'))
  t.match(JSON.parse(lines[0]!), { level: 30, pid: process.pid, port: 8971, msg: 'Listening', time: /^\d{4}-\d\d-\d\dT.*Z$/ })
})

t.test('on a terminal a line is to be read', async t => {
  const { lines, log } = collect({ tty: true })
  log.warn({ folder: '/srv/q' }, 'Nearly full')
  t.match(lines[0], /^\[\d\d:\d\d:\d\d\] WARN: Nearly full\n {4}folder: "\/srv\/q"\n$/)
})

t.test('no line holds the token, whichever field it came by', async t => {
  for (const tty of [false, true]) {
    const { lines, log } = collect({ token: TOKEN, tty })
    log.info({ token: TOKEN, config: { token: TOKEN, port: 1 }, secret: 'other-secret' }, `Started with ${TOKEN}`)
    log.error({ err: new Error(`bad header: Bearer ${TOKEN}`), req: { headers: { authorization: `Bearer ${TOKEN}`, cookie: 'c00kie' } } }, 'Failed')
    const all = lines.join('')
    t.equal(lines.length, 2)
    for (const secret of [TOKEN, JSON.stringify(TOKEN).slice(1, -1), 'other-secret', 'c00kie']) t.notOk(all.includes(secret), secret)
    t.match(all, /Started with \[token\]/)
    t.match(all, /bad header/)
  }
})

t.test('a reader who does not read costs lines, not memory', async t => {
  const { lines, log } = collect({ waiting: 1_048_577 })
  log.info({}, 'Nobody reads this')
  t.strictSame(lines, [])
})
