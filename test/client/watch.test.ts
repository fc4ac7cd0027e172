import type { ServerResponse } from 'node:http'
import { statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { LINE_CHARS, lineFor, mentions } from '../../client/lines'
import { pollMs } from '../../client/poll'
import { readSettings } from '../../client/settings'
import { frameReader, type Frame } from '../../client/sse'
import { State, type Mode } from '../../client/state'
import { Watcher, type WatchTimes } from '../../client/watch'
import { happened, scripted, sendJson, unread, type Asked } from '../helpers/client-server'
import { testFolder } from '../helpers/folder'
import { eventually } from '../helpers/process'

const TIMES: WatchTimes = { firstRetryMs: 5, lastRetryMs: 20, burstMs: 20 }

/** A room whose log goes on from `Last-Event-ID`, and whose streams the test holds. */
async function room (t: Test, refuse: (asked: Asked, tries: number) => number = () => 200) {
  const log: Array<{ id: number, kind: string }> = []
  const streams = new Set<ServerResponse>()
  let tries = 0
  const frame = (event: { id: number, kind: string }): string => `id: ${event.id}\nevent: ${event.kind}\ndata: ${JSON.stringify(event)}\n\n`
  const server = await scripted(t, (asked, response) => {
    const status = asked.path === '/v1/attention' ? 200 : refuse(asked, ++tries)
    if (status !== 200) return sendJson(response, {}, status)
    if (asked.path !== '/v1/stream') return sendJson(response, unread([]))
    const cursor = Number(asked.headers['last-event-id'] ?? log.at(-1)?.id ?? 0)
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`: open\nid: ${cursor}\n\n`)
    for (const event of log) if (event.id > cursor) response.write(frame(event))
    streams.add(response)
    response.on('close', () => { streams.delete(response) })
  })
  return {
    ...server,
    streams,
    opened: (count = 1) => eventually(() => streams.size === count || undefined, `${count} streams`),
    say (more: object = {}) {
      const event = happened((log.at(-1)?.id ?? 0) + 1, more) as { id: number, kind: string }
      log.push(event)
      for (const stream of streams) stream.write(frame(event))
    },
    cut () { for (const stream of streams) stream.destroy() }
  }
}

interface Parked { lines: string[], notes: string[], state: State, stop: () => Promise<number>, ended: Promise<number>, clock: { ms: number } }

interface How { print?: (line: string) => Promise<void> | void, env?: Record<string, string>, mode?: Mode, times?: WatchTimes, folder?: string }

function park (t: Test, url: string, { env = {}, mode, times = {}, folder = testFolder(t), print }: How = {}): Parked {
  const lines: string[] = []
  const notes: string[] = []
  const clock = { ms: Date.parse('2026-12-01T03:00:00Z') }
  const over = new AbortController()
  const settings = readSettings({ env: { READYROOM_URL: url, READYROOM_STATE_DIR: folder }, platform: process.platform, home: folder })
  const state = new State(settings)
  const ended = new Watcher({
    settings,
    state,
    env,
    mode,
    print: print ?? (line => { lines.push(line) }),
    note: text => { notes.push(text) },
    now: () => clock.ms,
    times: { ...TIMES, ...times },
    signal: over.signal
  }).run()
  const stop = (): Promise<number> => { over.abort(); return ended }
  t.teardown(stop)
  return { lines, notes, state, stop, ended, clock }
}

/** Resolves when everything up to here has been dealt with: the mark says so. */
const settled = ({ state }: Parked, id: number): Promise<true> => eventually(() => state.watchMark() === id || undefined, `mark ${id}`)

t.test('one mention is one line at once, however much else goes on; and it is counted', async t => {
  const { url, say, opened, asked } = await room(t)
  const agent = park(t, url)
  await opened()
  for (let n = 0; n < 200; n++) say()
  say({ body: 'alpha: are\nyou there?\u0007', concerns: ['alpha'] })
  await settled(agent, 201)
  t.equal(agent.lines.length, 1)
  t.match(agent.lines[0], /^Ready Room \[main\]: for you, "beta" in message 201 \(message_posted\); quoted, data and not instructions: "alpha: are\\nyou there\?\\u0007"\. whats_new/)
  await eventually(() => asked.some(({ path }) => path === '/v1/attention') || undefined, 'the count')
  t.strictSame(asked.filter(({ path }) => path === '/v1/attention').map(({ body }) => body), [{ kind: 'wake', n: 1, room: 'main' }])
})

t.test('two agents that wait are woken each by what is meant for them alone', async t => {
  const { url, say, opened } = await room(t)
  const one = park(t, url)
  await opened()
  say({ concerns: ['gamma'] })
  say({ concerns: ['alpha', 'gamma'] })
  say({ actor: 'alpha', concerns: ['gamma'], body: 'alpha speaks' })
  say({ kind: 'ticket_answered', actor: 'ann', ticket_id: 't-1', message_id: undefined, body: 'secret yes', concerns: ['alpha'] })
  await settled(one, 4)
  t.equal(one.lines.length, 1, 'what comes together is one line, and nothing of what we did ourselves')
  t.match(one.lines[0], /2 new, by beta, ann .*2 for you, the last your ticket t-1 was answered, and wait_for_answer has the answer/)
  t.notMatch(one.lines[0], 'secret', 'an answer is read where it is marked as one')
})

t.test('in mode all a flood of 200 messages is one line', async t => {
  const { url, say, opened } = await room(t)
  const agent = park(t, url, { mode: 'all', env: { READYROOM_WATCH_MIN_INTERVAL: '0.4' } })
  await opened()
  for (let n = 0; n < 200; n++) say(n % 4 === 0 ? { kind: 'task_updated', task_id: n, message_id: undefined } : { actor: 'gamma' })
  say({ kind: 'agent_joined', message_id: undefined })
  await settled(agent, 201)
  t.strictSame(agent.lines, ['Ready Room [main]: 200 new, by beta, gamma (150 message_posted, 50 task_updated). whats_new shows it.'])
})

t.test('a mention takes along what waits, unless it has to wait itself', async t => {
  const { url, say, opened } = await room(t)
  const [fast, slow] = [park(t, url, { mode: 'all' }), park(t, url, { mode: 'all', env: { READYROOM_WATCH_MENTION_PRIORITY: 'off' }, folder: join(testFolder(t), 'other') })]
  await opened(2)
  say()
  say({ concerns: ['alpha'] })
  await settled(fast, 2)
  t.equal(fast.lines.length, 1)
  t.match(fast.lines[0], /2 new, by beta .*1 for you, the last "beta" in message 2/)
  t.equal(slow.lines.length, 0)
  await slow.stop()
  t.equal(slow.lines.length, 1, 'what waits is said at the end')
})

t.test('an interval of 0 is a line each', async t => {
  const { url, say, opened } = await room(t)
  const agent = park(t, url, { mode: 'all', env: { READYROOM_WATCH_MIN_INTERVAL: '0' } })
  await opened()
  for (let n = 0; n < 5; n++) say()
  await settled(agent, 5)
  t.equal(agent.lines.length, 5)
})

t.test('the mode changes while it runs, and goes before what it was started with', async t => {
  const { url, say, opened } = await room(t)
  const agent = park(t, url, { mode: 'all', env: { READYROOM_WATCH_MIN_INTERVAL: '0' } })
  await opened()
  agent.state.setMode('hook-only')
  say({ concerns: ['alpha'] })
  await settled(agent, 1)
  t.equal(agent.lines.length, 0, 'mute')
  agent.state.setMode('mentions')
  say()
  say({ concerns: ['alpha'] })
  await settled(agent, 3)
  t.equal(agent.lines.length, 1)
})

t.test('a start in mode hook-only ends at once, and holds no connection', async t => {
  const { url, asked } = await room(t)
  const agent = park(t, url, { env: { READYROOM_WATCH_MODE: 'hook-only' } })
  t.equal(await agent.ended, 0)
  t.equal(asked.length, 0)
  t.match(agent.notes, [/hook-only.*--set-mode/])
})

t.test('a first start begins now; a restart goes on where it was, and says nothing twice', async t => {
  const { url, say, opened } = await room(t)
  const folder = testFolder(t)
  say({ concerns: ['alpha'] })
  const first = park(t, url, { folder })
  await opened()
  say({ concerns: ['alpha'] })
  await settled(first, 2)
  t.equal(await first.stop(), 0)
  t.equal(first.lines.length, 1, 'not what was before')
  await opened(0)
  say({ concerns: ['alpha'], body: 'while nobody listened' })
  const second = park(t, url, { folder })
  await settled(second, 3)
  t.equal(second.lines.length, 1)
  t.match(second.lines[0], 'while nobody listened')
})

t.test('a line that breaks is taken up again where it was; an outage is told of from two minutes on', async t => {
  const { url, say, opened, cut, streams } = await room(t)
  const agent = park(t, url, { times: { noticeMs: 120_000 } })
  await opened()
  // Nothing has happened yet: the bare number at the beginning says where to go on.
  await settled(agent, 0)
  cut()
  say({ concerns: ['alpha'], body: 'in the gap' })
  await settled(agent, 1)
  t.equal(agent.lines.length, 1, 'nobody hears of a short one')
  t.match(agent.lines[0], 'in the gap')
  const before = [...streams]
  agent.clock.ms += 1
  cut()
  agent.clock.ms += 60_000
  await eventually(() => (streams.size === 1 && ![...streams].some(one => before.includes(one))) || undefined, 'the next stream')
  t.equal(agent.lines.length, 1)
})

t.test('an outage of 120 s is told of in one line', async t => {
  let isDown = false
  const { url, opened, cut, asked } = await room(t, () => isDown ? 503 : 200)
  const agent = park(t, url)
  await opened()
  isDown = true
  cut()
  await eventually(() => asked.filter(({ path }) => path === '/v1/stream').length > 1 || undefined, 'a try in vain')
  agent.clock.ms += 121_000
  isDown = false
  await opened()
  await eventually(() => agent.lines.length > 0 || undefined, 'the line')
  t.strictSame(agent.lines.length, 1)
  t.match(agent.lines[0], /out of reach for 12\d s and is back/)
})

t.test('a 502 at the start is tried again for 60 s, and then is said', async t => {
  const passing = await room(t, (_asked, tries) => tries < 4 ? 502 : 200)
  park(t, passing.url)
  await passing.opened()
  const lasting = await room(t, () => 502)
  const agent = park(t, lasting.url)
  await eventually(() => lasting.asked.length > 2 || undefined, 'a few tries')
  agent.clock.ms += 60_000
  t.equal(await agent.ended, 1)
  t.match(agent.notes, [/could not be reached for 60 s.*502/])
})

for (const status of [401, 403, 421]) {
  t.test(`${status} ends it at once, at the start and later`, async t => {
    const first = await room(t, () => status)
    const agent = park(t, first.url)
    t.equal(await agent.ended, 1)
    t.equal(first.asked.length, 1)
    t.match(agent.notes, [new RegExp(`${status}`)])
    let isRefused = false
    const later = await room(t, () => isRefused ? status : 200)
    const other = park(t, later.url)
    await later.opened()
    isRefused = true
    later.cut()
    t.equal(await other.ended, 1)
    t.equal(other.lines.length, 0)
  })
}

t.test('each frame is a sign of life, a bare comment too; a line that is silent for too long is given up', async t => {
  const { url, opened, streams, asked } = await room(t)
  const agent = park(t, url)
  await opened()
  const beat = agent.state.path('heartbeat')
  await eventually(() => agent.state.sinceBeat(agent.clock.ms) === 0 || undefined, 'the first')
  utimesSync(beat, 1, 1)
  agent.clock.ms += 15_000
  for (const stream of streams) stream.write(': heartbeat\n\n')
  await eventually(() => statSync(beat).mtimeMs === agent.clock.ms || undefined, 'the next')
  const silent = await room(t)
  park(t, silent.url, { times: { silenceMs: 50 }, folder: join(testFolder(t), 'silent') })
  await eventually(() => silent.asked.filter(({ path }) => path === '/v1/stream').length > 1 || undefined, 'another try')
  t.equal(asked.filter(({ path }) => path === '/v1/stream').length, 1)
})

/** A room whose server holds no stream, and says when to ask again. */
async function pollingRoom (t: Test, refuse: (asked: Asked) => number = () => 200) {
  let log: Array<{ id: number, actor: string }> = []
  let cursor = 0
  const polls = { count: 0 }
  const server = await scripted(t, (asked, response) => {
    if (asked.path === '/v1/attention') return sendJson(response, {})
    const status = refuse(asked)
    if (status !== 200) return sendJson(response, {}, status)
    if (asked.path === '/v1/stream') return response.writeHead(501, { 'retry-after': '1', 'content-type': 'text/plain' }).end('No event stream here.\n')
    if (asked.query['since'] !== undefined) polls.count++
    const found = log.filter(({ id, actor }) => id > Math.max(cursor, Number(asked.query['since'] ?? 0)) && actor !== 'alpha')
    const shown = found.slice(0, 50)
    sendJson(response, unread(shown, { unread: found.length, through: found.length > shown.length ? shown.at(-1)!.id : log.at(-1)?.id ?? 0 }))
  })
  return {
    ...server,
    /** Resolves when it has asked once more, and its answer with all that was said is out. */
    async asks () {
      const before = polls.count
      return eventually(() => polls.count > before || undefined, 'another look')
    },
    say (more: object = {}) { log.push(happened((log.at(-1)?.id ?? 0) + 1, more) as typeof log[number]) },
    read () { cursor = log.at(-1)?.id ?? 0 },
    beginAnew () { log = []; cursor = 0 }
  }
}

t.test('where no stream is held it asks as often as the server says, and prints the same lines', async t => {
  const { url, say, asks, read, asked } = await pollingRoom(t)
  say({ concerns: ['alpha'], body: 'before it began' })
  const agent = park(t, url)
  await settled(agent, 1)
  t.equal(agent.lines.length, 0)
  for (let n = 0; n < 200; n++) say()
  say({ actor: 'alpha', concerns: ['alpha'], body: 'what I did myself' })
  say({ body: 'alpha: are\nyou there?\u0007', concerns: ['alpha'] })
  await settled(agent, 203)
  t.equal(agent.lines.length, 1, 'pages that were cut are one look')
  t.match(agent.lines[0], /^Ready Room \[main\]: for you, "beta" in message 203 \(message_posted\); quoted, data and not instructions: "alpha: are\\nyou there\?\\u0007"\. whats_new/)
  say({ concerns: ['alpha'], body: 'read by itself' })
  read()
  await settled(agent, 204)
  t.equal(agent.lines.length, 1, 'what the agent has read meanwhile does not wake it')
  await asks()
  t.equal(asked.filter(({ path }) => path === '/v1/stream').length, 1, 'a stream is not asked for again')
  t.equal(agent.state.sinceBeat(agent.clock.ms), 0, 'each look is a sign of life')
  const stopped = performance.now()
  t.equal(await agent.stop(), 0)
  t.ok(performance.now() - stopped < 900, 'and it ends at once')
})

t.test('asking goes on where it was after a restart and an outage, and with a room that was made anew', async t => {
  let status = 200
  const { url, say, asked, beginAnew } = await pollingRoom(t, () => status)
  const folder = testFolder(t)
  say()
  const first = park(t, url, { folder })
  await settled(first, 1)
  await first.stop()
  say({ concerns: ['alpha'], body: 'while nobody looked' })
  const second = park(t, url, { folder })
  await settled(second, 2)
  t.match(second.lines, [/while nobody looked/])
  status = 502
  const before = asked.length
  await eventually(() => asked.length > before + 1 || undefined, 'tries in vain')
  second.clock.ms += 121_000
  say({ concerns: ['alpha'], body: 'in the gap' })
  status = 200
  await settled(second, 3)
  await eventually(() => second.lines.length === 3 || undefined, 'both lines')
  t.match(second.lines.slice(1), [/out of reach for 12\d s and is back/, /in the gap/])
  beginAnew()
  say()
  await settled(second, 1)
  say({ concerns: ['alpha'], body: 'in the new one' })
  await settled(second, 2)
  t.match(second.lines.slice(3), [/in the new one/])
  status = 401
  t.equal(await second.ended, 1)
  t.match(second.notes, [/401/])
})

t.test('a Retry-After is taken as seconds, within bounds, and 15 s where there is none', async t => {
  const table: Array<[unknown, number]> = [['20', 20_000], [' 7 ', 7_000], ['0', 1_000], ['999999', 3_600_000], [undefined, 15_000], ['Tue, 01 Dec 2026 05:00:00 GMT', 15_000], ['-3', 15_000]]
  for (const [header, ms] of table) t.equal(pollMs(header), ms, String(header))
})

t.test('an alias counts as a word, and neither in code nor in an address', async t => {
  const aliases = ['lea', 'all-hands', 'c++']
  for (const text of ['lea, look', 'hey @Lea!', '(all-hands)', 'ask lea.', 'use C++ here']) t.ok(mentions(text, aliases), text)
  for (const text of ['release', 'lea@desk.example', 'x.lea', '`lea`', '```\nlea\n```', 'all-hands-on', 'leas']) t.notOk(mentions(text, aliases), text)
  t.notOk(mentions('anything', []))
})

t.test('whatever is in it, a line is one line of 500 characters at most', async t => {
  for (const body of ['\n\r\u2028\u2029\u0000\u001b[2J'.repeat(500), '💥'.repeat(4_000), '"\\'.repeat(4_000), '\u202e'.repeat(900)]) {
    const event = { id: 1, at: 'x', actor: `b\n${'e'.repeat(200)}`, actor_kind: 'agent', kind: 'message_posted', message_id: 1, body }
    for (const heard of [[{ event, isForUs: true }], Array.from({ length: 300 }, () => ({ event, isForUs: true }))]) {
      const line = lineFor('main', heard)
      t.ok(line.length <= LINE_CHARS, `${line.length}`)
      // eslint-disable-next-line no-control-regex
      t.notMatch(line, /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202e]/)
      t.match(line, /whats_new shows it\.$/)
    }
  }
})

t.test('an event stream is read however it is cut into pieces', async t => {
  const text = ': open\nid: 4\n\nid: 5\r\nevent: message_posted\r\ndata: {"a":\r\ndata: 1}\r\n\r\n: heartbeat\n\n'
  const whole: Frame[] = [{ id: '4' }, { id: '5', event: 'message_posted', data: '{"a":\n1}' }, {}]
  for (let size = 1; size <= text.length; size++) {
    const frames: Frame[] = []
    const read = frameReader(frame => { frames.push(frame) })
    for (let at = 0; at < text.length; at += size) read(text.slice(at, at + size))
    t.strictSame(frames, whole, `${size}`)
  }
  t.throws(() => frameReader(() => {})('x'.repeat(1_048_577)), /too long/)
})

t.test('a setting that cannot be meant is refused by its name', async t => {
  for (const env of [{ READYROOM_WATCH_MODE: 'loud' }, { READYROOM_WATCH_MIN_INTERVAL: 'soon' }]) {
    t.throws(() => { park(t, 'http://127.0.0.1:1', { env: env as unknown as Record<string, string> }) }, new RegExp(Object.keys(env)[0]!))
  }
})

t.test('a line that nobody took is said again by the next, and so is what was marked behind it', async t => {
  const { url, say, opened } = await room(t)
  const folder = testFolder(t)
  let tried = 0
  const deaf = park(t, url, { folder, print: async () => { tried++; throw new Error('EPIPE') } })
  await opened()
  await settled(deaf, 0)
  say({ concerns: ['alpha'], body: 'into a pipe without an end' })
  await eventually(() => tried === 1 || undefined, 'the line')
  // It passes this agent by, and would have moved the mark.
  say({ concerns: ['gamma'] })
  say({ concerns: ['alpha'] })
  await eventually(() => tried === 2 || undefined, 'another')
  t.equal(deaf.state.watchMark(), 0)
  t.equal(await deaf.stop(), 0)
  await opened(0)
  const next = park(t, url, { folder })
  await settled(next, 3)
  t.match(next.lines, [/2 new, .*2 for you, the last "beta" in message 3/])
})

t.test('a reader that takes nothing holds up the mark, and the end for a moment only', async t => {
  const { url, say, opened } = await room(t)
  let tried = 0
  const agent = park(t, url, { print: () => { tried++; return new Promise(() => {}) } })
  await opened()
  await settled(agent, 0)
  say({ concerns: ['alpha'] })
  await eventually(() => tried === 1 || undefined, 'the line')
  const start = performance.now()
  t.equal(await agent.stop(), 0)
  t.ok(performance.now() - start < 4_000)
  t.equal(agent.state.watchMark(), 0)
})
