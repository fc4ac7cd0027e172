import type { Test } from 'tap'
import type { CallHead, CommandName, InputOf, OutputOf, RoomStore } from '../../lib/room/store'
import { enqueue, answer, undo, expire, cancel, mintId } from '../../lib/lifecycle'
import type { AuditEntry } from '../../schemas/event'
import type { Decision } from '../../lib/store'

const NOW = Date.parse('2026-05-01T10:00:00.000Z')
const MINUTE = 60_000

export interface RoomStoreTarget {
  /** A store on an empty database, open. Its close is the suite's. */
  open (t: Test): Promise<RoomStore>
}

/** What somebody does in the room `ops`, one command after the other. */
function hand (store: RoomStore, name: string, { admin = false, room = 'ops' }: { admin?: boolean, room?: string } = {}) {
  return async <N extends CommandName>(command: N, input: InputOf<N>, now = NOW): Promise<OutputOf<N>> => {
    const head: CallHead = { actor: { name, kind: admin ? 'admin' : 'agent', admin }, room, now }
    return (await store.run(command, head, input)).result
  }
}

/** Entries of an audit log, as a store of tickets would number them. */
function auditLog (first = 1) {
  let seq = first - 1
  return ({ ticket, event }: Decision): AuditEntry =>
    ({ seq: ++seq, batch: seq, ...event, id: ticket.id, stream: ticket.stream, instance: 'test', ticket, prev: '', hash: '' })
}

const ask = (asker: string, now = NOW, more: object = {}): Decision =>
  enqueue({ stream: asker, asker, room: 'ops', question: 'Ship it?', ...more }, mintId(now), now)

export function roomStoreContract (t: Test, { open }: RoomStoreTarget): void {
  const test = (name: string, run: (t: Test, store: RoomStore) => Promise<void>): void => {
    t.test(name, async t => {
      const store = await open(t)
      t.teardown(() => store.close())
      await hand(store, 'root', { admin: true })('addRoom', {})
      await run(t, store)
    })
  }

  test('a room that is not there is said to be missing, and making one twice keeps it as it is', async (t, store) => {
    await t.rejects(hand(store, 'ann', { room: 'nowhere' })('whatsNew', {}), { code: 'ROOM_NOT_FOUND' })
    const ann = hand(store, 'ann')
    await ann('setRoomInfo', { description: 'Where we work', repo_url: 'https://example.org/x' })
    await ann('addRoom', {})
    t.match(await ann('getRoomInfo', {}), { room: 'ops', description: 'Where we work', repo_url: 'https://example.org/x', retention_days: 0 })
    await ann('setRoomInfo', { description: '' })
    t.notOk('description' in await ann('getRoomInfo', {}))
    await t.rejects(ann('setRoomInfo', { repo_url: 'javascript:alert(1)' }), { code: 'BAD_REQUEST' })
  })

  test('what is new begins now, says once what the room is, leaves out what one did oneself, and is told once', async (t, store) => {
    const [ann, bob] = [hand(store, 'ann'), hand(store, 'bob')]
    await ann('postMessage', { body: 'before bob came' })
    const first = await bob('whatsNew', {})
    t.strictSame(first.events, [])
    t.equal(first.room_info?.room, 'ops')
    await ann('postMessage', { body: 'hello @bob' })
    await bob('postMessage', { body: 'hello' })
    const { events, room_info: info } = await bob('whatsNew', {})
    t.match(events, [{ kind: 'message_posted', actor: 'ann', body: 'hello @bob', message_id: 2, concerns: ['bob'] }])
    t.equal(events.length, 1)
    t.equal(info, undefined)
    t.strictSame((await bob('whatsNew', {})).events, [])
  })

  test('a page that is cut moves the cursor to its last event only, and nothing is lost between pages', async (t, store) => {
    const [ann, bob] = [hand(store, 'ann'), hand(store, 'bob')]
    await bob('whatsNew', {})
    const body = 'x'.repeat(16_384)
    for (let n = 0; n < 10; n++) await ann('postMessage', { body })
    const got: number[] = []
    for (let page = 0; page < 10; page++) {
      const { events, more } = await bob('whatsNew', {})
      t.ok(JSON.stringify(events).length <= 65_536 + 20_000, 'a page has an end')
      got.push(...events.filter(({ kind }) => kind === 'message_posted').map(({ message_id: id }) => id!))
      if (more === undefined) break
    }
    t.strictSame(got, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  })

  test('a peek moves nothing, counts exactly, and a cursor goes forward only', async (t, store) => {
    const [ann, bob] = [hand(store, 'ann'), hand(store, 'bob')]
    await bob('whatsNew', {})
    for (let n = 0; n < 5; n++) await ann('postMessage', { body: `m${n}` })
    const peek = await bob('peek', { limit: 2 })
    t.match(peek, { unread: 6, more: true }, 'ann has joined, and five messages')
    t.equal(peek.events.length, 2)
    await bob('commitCursor', { through: peek.through })
    t.equal((await bob('peek', {})).unread, 4)
    await bob('commitCursor', { through: 1 })
    t.equal((await bob('peek', {})).unread, 4, 'not back')
    await bob('commitCursor', { through: 1_000_000 })
    t.equal((await bob('peek', {})).unread, 0)
    await ann('postMessage', { body: 'after' })
    t.equal((await bob('peek', {})).unread, 1, 'and never past the end')
  })

  test('a message has its thread, its addressees and its acknowledgements; names that nobody bears are refused', async (t, store) => {
    const [ann, bob] = [hand(store, 'ann'), hand(store, 'bob')]
    await bob('whatsNew', {})
    const { id } = await ann('postMessage', { body: 'please read', to: ['Bob'], require_ack: true })
    await bob('postMessage', { body: 'read', reply_to: id })
    await bob('ackMessage', { message_id: id })
    await bob('ackMessage', { message_id: id })
    const { messages } = await ann('readMessages', { since_id: 0 })
    t.match(messages, [{ id: 1, to: ['bob'], require_ack: true, acked_by: ['bob'] }, { id: 2, reply_to: 1 }])
    t.equal((await ann('readEvents', { kind: 'message_acked' })).events.length, 1, 'twice is once')
    await t.rejects(ann('postMessage', { body: 'x', to: ['carol'] }), { code: 'BAD_REQUEST', message: /"carol"/ })
    await t.rejects(ann('postMessage', { body: 'x', reply_to: 99 }), { code: 'MESSAGE_NOT_FOUND' })
    await t.rejects(ann('ackMessage', { message_id: 99 }), { code: 'MESSAGE_NOT_FOUND' })
  })

  test('a message of its limit is taken, one byte more is refused, in bytes and not in characters', async (t, store) => {
    const ann = hand(store, 'ann')
    await ann('postMessage', { body: 'x'.repeat(16_384) })
    await ann('postMessage', { body: 'é'.repeat(8_192) })
    await t.rejects(ann('postMessage', { body: 'x'.repeat(16_385) }), { code: 'BAD_REQUEST', message: /16,384.*16,385/ })
    await t.rejects(ann('postMessage', { body: 'é'.repeat(8_193) }), { code: 'BAD_REQUEST' })
    await t.rejects(ann('postMessage', { body: ' \n\u200b' }), { code: 'BAD_REQUEST' })
    t.equal((await ann('readMessages', { since_id: 0, limit: 500 })).messages.length, 2, 'and nothing of what was refused is there')
  })

  test('of fifty that claim at once one has it, in every one of twenty rounds', async (t, store) => {
    const ann = hand(store, 'ann')
    for (let round = 0; round < 20; round++) {
      const { id } = await ann('createTask', { title: `round ${round}` })
      const claims = await Promise.allSettled(Array.from({ length: 50 }, (_, n) => hand(store, `w${n}`)('claimTask', { task_id: id })))
      t.equal(claims.filter(({ status }) => status === 'fulfilled').length, 1)
      for (const claim of claims) if (claim.status === 'rejected') t.equal((claim.reason as { code: string }).code, 'TASK_NOT_OWNED')
    }
  })

  test('of two updates on one version the second is refused, and nothing of it is there', async (t, store) => {
    const ann = hand(store, 'ann')
    await ann('createTask', { title: 'one', claim: true })
    const { version } = await ann('getTask', { task_id: 1 })
    await ann('updateTask', { task_id: 1, note: 'first', status: 'blocked', expected_version: version })
    await t.rejects(ann('updateTask', { task_id: 1, note: 'second', status: 'done', expected_version: version }), { code: 'TASK_CHANGED' })
    t.match(await ann('getTask', { task_id: 1 }), { status: 'blocked', notes: [{ body: 'first' }] })
  })

  test('what depends on others is ready when they are done; a circle is refused with its path', async (t, store) => {
    const ann = hand(store, 'ann')
    for (const title of ['one', 'two']) await ann('createTask', { title })
    await ann('createTask', { title: 'three', depends_on: [1, 2] })
    const ready = async (): Promise<number[]> => (await ann('listTasks', { status: 'ready' })).tasks.map(({ id }) => id)
    t.strictSame(await ready(), [1, 2])
    const board = async (status?: 'ready') => (await ann('listTasks', status === undefined ? {} : { status })).tasks.map(task => [task.id, task.ready])
    t.strictSame(await board(), [[1, true], [2, true], [3, false]])
    t.strictSame(await board('ready'), [[1, true], [2, true]])
    await t.rejects(ann('claimTask', { task_id: 3 }), { code: 'TASK_NOT_READY', message: /task 1, task 2/ })
    for (const id of [1, 2]) {
      await ann('claimTask', { task_id: id })
      await ann('updateTask', { task_id: id, status: 'done' })
    }
    t.strictSame(await ready(), [3])
    t.strictSame(await board(), [[1, undefined], [2, undefined], [3, true]], 'it is said of what is pending')
    await t.rejects(ann('updateTask', { task_id: 1, depends_on: [3] }), { code: 'BAD_REQUEST', message: /task 1, then task 3, then task 1/ })
    await t.rejects(ann('createTask', { title: 'x', depends_on: [99] }), { code: 'TASK_NOT_FOUND' })
    t.equal((await ann('listTasks', {})).tasks.length, 3)
    t.strictSame((await ann('listTasks', { status: 'open' })).tasks.map(({ id }) => id), [3])
    t.strictSame((await ann('listTasks', { assignee: 'me' })).tasks.map(({ id }) => id), [1, 2])
  })

  test('a lease that lapses while its owner says nothing frees the task, tells who lost it, and refuses the late owner', async (t, store) => {
    const [ann, bob] = [hand(store, 'ann'), hand(store, 'bob')]
    await ann('createTask', { title: 'one' })
    await ann('claimTask', { task_id: 1, lease_seconds: 60 })
    await ann('whatsNew', {}, NOW + 50_000)
    t.match(await bob('getTask', { task_id: 1 }, NOW + 70_000), { status: 'in_progress', owner: 'ann' }, 'a call of the owner renewed it')
    t.match(await bob('claimTask', { task_id: 1 }, NOW + 110_000), { status: 'in_progress', owner: 'bob' })
    await t.rejects(ann('updateTask', { task_id: 1, status: 'done' }, NOW + 111_000), { code: 'TASK_NOT_OWNED' })
    const { events } = await bob('readEvents', { kind: 'task_lapsed' })
    t.match(events, [{ actor: 'system', task_id: 1, concerns: ['ann'], body: /ann/ }])
  })

  test('a ticket\'s end reaches the agent that asked, frees its task, and an undo blocks it again', async (t, store) => {
    const ann = hand(store, 'ann')
    const log = auditLog()
    await ann('whatsNew', {})
    const asked = ask('ann')
    const { id } = asked.ticket
    await ann('createTask', { title: 'ship', claim: true })
    await ann('updateTask', { task_id: 1, status: 'blocked', ticket_id: id })
    const answered = answer(asked.ticket, 'yes', 'pia', NOW + MINUTE)
    await ann('applyTickets', { entries: [log(asked), log(answered)] })
    t.match(await ann('getTask', { task_id: 1 }), { status: 'in_progress', owner: 'ann', notes: [{ author: 'system', body: /"yes"/ }] })
    const undone = undo(answered.ticket, 'pia', NOW + 2 * MINUTE)
    await ann('applyTickets', { entries: [log(undone)] })
    t.match(await ann('getTask', { task_id: 1 }), { status: 'blocked', ticket_id: id, owner: 'ann' })
    const { events } = await ann('whatsNew', {})
    const kinds = events.map(({ kind }) => kind)
    t.strictSame(kinds.filter(kind => kind.startsWith('ticket_')), ['ticket_answered', 'ticket_undone'], 'its own asking is no news')
    t.ok(events.filter(({ kind }) => kind.startsWith('ticket_')).every(({ concerns }) => concerns?.includes('ann')))
  })

  test('an expiry with a default frees a task; one without, and a cancel, leave it blocked with a note', async (t, store) => {
    const ann = hand(store, 'ann')
    const log = auditLog()
    const outcomes: Array<[object, (d: Decision) => Decision, string]> = [
      [{ default_answer: 'wait', timeout_seconds: 60 }, d => expire(d.ticket, NOW + 2 * MINUTE)!, 'pending'],
      [{ timeout_seconds: 60 }, d => expire(d.ticket, NOW + 2 * MINUTE)!, 'blocked'],
      [{}, d => cancel(d.ticket, NOW + MINUTE)!, 'blocked']
    ]
    for (const [n, [more, end, status]] of outcomes.entries()) {
      const asked = ask('ann', NOW, more)
      await ann('createTask', { title: `task ${n}`, ticket_id: asked.ticket.id })
      await ann('applyTickets', { entries: [log(asked), log(end(asked))] })
      const task = await ann('getTask', { task_id: n + 1 })
      t.equal(task.status, status)
      t.equal(task.notes.length, 1)
    }
  })

  test('a search finds what was written with accents of their own, as file names of some systems are', async (t, store) => {
    const ann = hand(store, 'ann')
    await ann('postMessage', { body: 'the e\u0301cole opens' })
    for (const query of ['e\u0301cole', '\u00e9cole', 'ecole']) t.equal((await ann('search', { query })).hits.length, 1, query)
  })

  test('entries of the audit log count once, whoever sends them again', async (t, store) => {
    const ann = hand(store, 'ann')
    const log = auditLog()
    const entries = [log(ask('ann')), log(ask('ann'))]
    t.equal((await ann('applyTickets', { entries })).seq, 2)
    t.equal((await ann('applyTickets', { entries })).seq, 2)
    t.equal((await ann('readEvents', { kind: 'ticket_enqueued' })).events.length, 2)
  })

  test('a file at its limit is kept whole, one byte more is refused, and pages make it up again', async (t, store) => {
    const ann = hand(store, 'ann')
    const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, n) => (n * 7) % 256))
    const put = await ann('putFile', { name: 'a.bin', content_base64: bytes.toString('base64'), max_bytes: 100_000 })
    t.match(put, { id: 1, size: 100_000, mime: 'application/octet-stream' })
    await t.rejects(ann('putFile', { name: 'b', content_base64: Buffer.alloc(100_001).toString('base64'), max_bytes: 100_000 }), { code: 'BAD_REQUEST', message: /100,001/ })
    const parts: Buffer[] = []
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const page: OutputOf<'getFile'> = await ann('getFile', { file_id: 1, offset })
      parts.push(Buffer.from(page.content_base64, 'base64'))
      offset = page.next
    }
    t.ok(Buffer.concat(parts).equals(bytes))
    for (const name of ['../x', 'a/b', '', '.', 'a\nb', 'c:\\x']) await t.rejects(ann('putFile', { name, content_base64: '', max_bytes: 10 }), { code: 'BAD_REQUEST' }, name)
    await t.rejects(ann('putFile', { name: 'x', content_base64: '%%%', max_bytes: 10 }), { code: 'BAD_REQUEST' })
  })

  test('a file cannot be read from the moment it expires, is swept later with an event, and only its author or an admin deletes one', async (t, store) => {
    const [ann, bob, root] = [hand(store, 'ann'), hand(store, 'bob'), hand(store, 'root', { admin: true })]
    const hour = 3_600_000
    await ann('putFile', { name: 'scratch', content_base64: 'aGk=', expires_in_hours: 1, max_bytes: 10 })
    await ann('putFile', { name: 'kept', content_base64: 'aGk=', max_bytes: 10 })
    await ann('getFile', { file_id: 1 }, NOW + hour - 1)
    await t.rejects(ann('getFile', { file_id: 1 }, NOW + hour), { code: 'FILE_NOT_FOUND', message: /expired/ })
    t.strictSame((await ann('listFiles', {}, NOW + hour)).files.map(({ id }) => id), [2])
    t.equal((await ann('readEvents', { kind: 'file_expired' })).events.length, 0)
    await root('sweepFiles', { limit: 500 }, NOW + hour)
    t.match((await ann('readEvents', { kind: 'file_expired' })).events, [{ file_id: 1, actor: 'system' }])
    await t.rejects(bob('deleteFile', { file_id: 2 }), { code: 'FORBIDDEN_ROOM' })
    await root('deleteFile', { file_id: 2 })
    await t.rejects(ann('deleteFile', { file_id: 2 }), { code: 'FILE_NOT_FOUND' })
  })

  test('search finds by words, in every kind, by the newest text, and nothing in a query is an operator', async (t, store) => {
    const ann = hand(store, 'ann')
    await ann('postMessage', { body: 'The Café poller is live' })
    await ann('createTask', { title: 'Retire the sensors', body: 'once the poller runs' })
    await ann('addNote', { task_id: 1, body: 'poller confirmed' })
    await ann('putFile', { name: 'poller.conf', content_base64: '', max_bytes: 10 })
    t.strictSame((await ann('search', { query: 'poller' })).hits.map(({ kind }) => kind).sort(), ['file', 'message', 'note', 'task'])
    t.strictSame((await ann('search', { query: 'cafe' })).hits.map(({ kind }) => kind), ['message'], 'accents do not matter')
    t.strictSame((await ann('search', { query: 'poller', kinds: ['note'] })).hits, [(await ann('search', { query: 'confirmed' })).hits[0]])
    await ann('updateTask', { task_id: 1, body: 'something else' })
    t.strictSame((await ann('search', { query: 'poller', kinds: ['task'] })).hits, [])
    for (const query of ['"', 'a OR b*', 'NEAR(', 'text:x', '-', '^', '()']) t.ok((await ann('search', { query })).hits, query)
  })

  test('retention takes chat, events and files that are older, in steps, and no task', async (t, store) => {
    const [ann, root] = [hand(store, 'ann'), hand(store, 'root', { admin: true })]
    const day = 86_400_000
    for (let n = 0; n < 7; n++) await ann('postMessage', { body: `old ${n}` })
    await ann('putFile', { name: 'old', content_base64: 'aGk=', max_bytes: 10 })
    await ann('createTask', { title: 'stays' })
    await ann('postMessage', { body: 'new' }, NOW + 5 * day)
    t.strictSame(await root('sweepRoom', { limit: 3 }, NOW + 6 * day), { more: false }, '0 keeps everything')
    await root('setRetention', { days: 2 }, NOW + 6 * day)
    let steps = 0
    while ((await root('sweepRoom', { limit: 3 }, NOW + 6 * day)).more) steps++
    t.ok(steps >= 2)
    t.strictSame((await ann('readMessages', { since_id: 0 })).messages.map(({ body }) => body), ['new'])
    t.strictSame((await ann('search', { query: 'old' })).hits, [])
    t.equal((await ann('listTasks', {})).tasks.length, 1)
    const { id } = await ann('postMessage', { body: 'next' })
    t.equal(id, 9, 'ids are never given twice')
  })

  test('a room is deleted with its name only, and all that was in it', async (t, store) => {
    const root = hand(store, 'root', { admin: true })
    await root('postMessage', { body: 'gone' })
    await t.rejects(root('deleteRoom', { confirm: 'op' }), { code: 'BAD_REQUEST' })
    await root('deleteRoom', { confirm: 'ops' })
    await t.rejects(root('readMessages', {}), { code: 'ROOM_NOT_FOUND' })
    await root('addRoom', {})
    t.strictSame((await root('readMessages', {})).messages, [])
    t.strictSame((await root('search', { query: 'gone' })).hits, [])
  })

  test('a token is found by its hash, one name is one kind, and what is revoked is hidden, kept and purged on demand', async (t, store) => {
    const root = hand(store, 'root', { admin: true })
    const mint = { hash: 'h1', agent: 'Ann', role: 'agent', home: 'ops' } as const
    t.match(await root('mintToken', mint), { id: 1, agent: 'ann', hash: 'h1', rooms: [], all_rooms: false })
    await root('mintToken', { ...mint, hash: 'h2' })
    await t.rejects(root('mintToken', { ...mint, hash: 'h3', role: 'approver' }), { code: 'BAD_REQUEST', message: /ann/ })
    await t.rejects(root('mintToken', { ...mint, hash: 'h4', agent: 'human' }), { code: 'BAD_REQUEST' })
    await t.rejects(root('mintToken', { ...mint, hash: 'h5', home: 'nowhere' }), { code: 'ROOM_NOT_FOUND', message: /add-room/ })
    t.strictSame(await root('revokeTokens', { agent: 'ANN' }), { revoked: [1, 2] })
    t.match(await root('listTokens', {}), { tokens: [], revoked_hidden: 2 })
    t.equal((await root('listTokens', { revoked: true })).tokens.length, 2)
    t.equal((await root('loadTokens', {})).tokens.length, 0)
    t.strictSame(await root('purgeTokens', { older_than_days: 1 }), { purged: 0 })
    await root('mintToken', { ...mint, hash: 'h6' })
    t.strictSame(await root('purgeTokens', {}), { purged: 2 })
    t.equal((await root('listTokens', {})).tokens.length, 1, 'a live one is never purged')
  })

  test('a command that is refused leaves nothing of itself, among others that come with it', async (t, store) => {
    const ann = hand(store, 'ann')
    const many = await Promise.allSettled(Array.from({ length: 20 }, (_, n) => ann('postMessage', { body: n % 2 === 0 ? `m${n}` : '' })))
    t.equal(many.filter(({ status }) => status === 'fulfilled').length, 10)
    const { messages } = await ann('readMessages', { since_id: 0 })
    t.strictSame(messages.map(({ id }) => id), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    const { events } = await ann('readEvents', { kind: 'message_posted' })
    t.equal(events.length, 10)
  })

  test('a task does not begin to wait for a ticket of whose end the room was told since it was seen', async (t, store) => {
    const ann = hand(store, 'ann')
    const log = auditLog()
    const { id } = await ann('createTask', { title: 'ship', claim: true })
    const asked = ask('ann')
    await ann('applyTickets', { entries: [log(asked)] })
    await ann('applyTickets', { entries: [log(answer(asked.ticket, 'yes', 'human', NOW))] })
    const wait = { task_id: id, status: 'blocked', ticket_id: asked.ticket.id } as const
    await t.rejects(ann('updateTask', { ...wait, ticket_rev: 1 }), { code: 'STALE_WRITE' })
    t.match(await ann('getTask', { task_id: id }), { status: 'in_progress' })
  })

  test('a task that began to wait for a ticket whose end is behind it is told of it, once', async (t, store) => {
    const ann = hand(store, 'ann')
    const ends: Array<[(d: Decision) => Decision, string]> = [
      [d => answer(d.ticket, 'yes', 'human', NOW), 'in_progress'], [d => cancel(d.ticket, NOW)!, 'blocked']
    ]
    for (const [n, [end, status]] of ends.entries()) {
      const { ticket } = end(ask('ann'))
      await ann('createTask', { title: 'ship', claim: true })
      await ann('updateTask', { task_id: n + 1, status: 'blocked', ticket_id: ticket.id, of_no_room: true })
      for (let time = 0; time < 2; time++) await ann('endWait', { ticket })
      const task = await ann('getTask', { task_id: n + 1 })
      t.match(task, { status, notes: [{ author: 'system' }] })
      t.equal(task.notes.length, 1)
    }
  })

  test('marks of an answer on its way are kept by revision, the first of each, and shown with the task that waits', async (t, store) => {
    const ann = hand(store, 'ann')
    const log = auditLog()
    const asked = ask('ann')
    const { id } = asked.ticket
    const answered = answer(asked.ticket, 'yes', 'human', NOW)
    await ann('createTask', { title: 'ship', ticket_id: id })
    await ann('applyTickets', { entries: [log(asked)] })
    const known = async () => (await ann('ticketsInRoom', { tickets: [{ id, room: 'ops' }, { id: 'another', room: 'nowhere' }] })).tickets
    t.match(await known(), { [id]: { delivery: { rev: 1 }, waiting_task: { room: 'ops', id: 1, title: 'ship' } } })
    await ann('applyTickets', { entries: [log(answered)] })
    const mark = { asker: 'ann', room: 'ops', ticket_id: id } as const
    t.strictSame(await ann('noteDeliveries', { marks: [{ kind: 'read', asker: 'ann', at: 'a' }] }), { tickets: [] }, 'there was nothing to read')
    const marks = [
      { kind: 'delivered', at: 'b', saved_at: answered.event.at, ...mark }, { kind: 'delivered', at: 'c', rev: 2, ...mark }, { kind: 'read', asker: 'bob', at: 'd' }
    ] as const
    t.strictSame(await ann('noteDeliveries', { marks }), { tickets: [id] })
    t.match(await known(), { [id]: { delivery: { rev: 2, saved_at: answered.event.at, delivered_at: 'b', read_at: undefined }, delivery_before: { rev: 1 } } })
    for (const at of ['e', 'f']) await ann('noteDeliveries', { marks: [{ kind: 'read', asker: 'ann', at }] })
    t.match((await known())[id], { delivery: { delivered_at: 'b', read_at: 'e' } })
  })

  test('what the server does itself in a room makes it nobody who joined, or who could be called', async (t, store) => {
    const system: CallHead = { actor: { name: 'system', kind: 'system', admin: true }, room: 'ops', now: NOW }
    await store.run('setRetention', system, { days: 30 })
    const ann = hand(store, 'ann')
    t.strictSame((await ann('members', {})).agents.map(({ name }) => name), ['ann'])
    t.match((await ann('readEvents', {})).events, [{ kind: 'room_updated', actor: 'system' }, { kind: 'agent_joined', actor: 'ann' }])
  })

  test('an alias is of a room that is there, and is nobody else\'s name', async (t, store) => {
    await t.rejects(hand(store, 'root', { admin: true, room: 'nowhere' })('setAlias', { alias: 'boss', agent: 'ann' }), { code: 'ROOM_NOT_FOUND' })
    const root = hand(store, 'root', { admin: true })
    await root('mintToken', { hash: 'a'.repeat(64), agent: 'bob', role: 'agent', home: 'ops', rooms: [], all_rooms: false })
    await t.rejects(root('setAlias', { alias: 'bob', agent: 'ann' }), { code: 'BAD_REQUEST', message: /bob has a token/ })
    await root('setAlias', { alias: 'boss', agent: 'bob' })
    t.match(await root('postMessage', { body: 'ask the boss' }), { mentions: ['bob'] })
  })

  test('what attention cost is counted by day and agent, and a new day begins anew', async (t, store) => {
    const [ann, bob] = [hand(store, 'ann'), hand(store, 'bob')]
    await ann('noteAttention', { kind: 'wake' })
    await ann('noteAttention', { kind: 'wake', n: 2 })
    await bob('noteAttention', { kind: 'inject' })
    await ann('noteAttention', { kind: 'inject' }, NOW + 86_400_000)
    const { agents } = await ann('attentionOf', {}, NOW + 86_400_000)
    t.strictSame(agents, [
      { day: '2026-05-02', agent: 'ann', wakeups: 0, injections: 1 },
      { day: '2026-05-01', agent: 'ann', wakeups: 3, injections: 0 },
      { day: '2026-05-01', agent: 'bob', wakeups: 0, injections: 1 }
    ])
    t.strictSame((await ann('attentionOf', { days: 1 }, NOW + 86_400_000)).agents.length, 1)
    t.strictSame(await ann('summary', {}), { rooms: 1, tokens: 0, agents: 2, wakeups: 3, injections: 1 })
    t.match(await ann('summary', {}, NOW + 2 * 86_400_000), { wakeups: 0, injections: 0 })
  })

  test('an agent that calls another too often in a day is heard, and wakes nobody; a person always does', async (t, store) => {
    const [ann, bob] = [hand(store, 'ann'), hand(store, 'bob')]
    await bob('whatsNew', {})
    const { budget } = await ann('attentionOf', {})
    for (let n = 0; n < budget; n++) t.notOk('over_budget' in await ann('postMessage', { body: '@bob again' }))
    t.match(await ann('postMessage', { body: '@bob once more' }), { mentions: ['bob'], over_budget: ['bob'] })
    t.match(await ann('postMessage', { body: 'this too', to: ['bob'] }), { over_budget: ['bob'] })
    t.strictSame((await ann('attentionOf', {})).pairs, [{ day: '2026-05-01', caller: 'ann', called: 'bob', count: budget + 2, over: 2 }])
    const { events } = await ann('readEvents', { since_id: budget, limit: 100 })
    t.strictSame(events.filter(({ body }) => body === 'this too' || body === '@bob once more').map(({ concerns }) => concerns), [undefined, undefined])
    const person: CallHead = { actor: { name: 'eve', kind: 'approver', admin: false }, room: 'ops', now: NOW }
    t.notOk('over_budget' in (await store.run('postMessage', person, { body: '@bob' })).result)
    t.notOk('over_budget' in await ann('postMessage', { body: '@bob a new day' }, NOW + 86_400_000))
  })

  test('every way to call somebody costs the same budget: a task, a note, a task of theirs, an acknowledgement; none that nobody asked for wakes', async (t, store) => {
    const [ann, bob] = [hand(store, 'ann'), hand(store, 'bob')]
    await bob('whatsNew', {})
    const { budget } = await ann('attentionOf', {})
    const theirs = (await bob('createTask', { title: 'Mine', claim: true })).id
    const asked = (await bob('postMessage', { body: 'Say that you saw it', require_ack: true })).id
    const plain = (await bob('postMessage', { body: 'Nothing to say' })).id
    const call: Array<() => Promise<unknown>> = [
      () => ann('createTask', { title: 'For @bob' }),
      () => ann('addNote', { task_id: theirs, body: 'how is it?' }),
      () => ann('createTask', { title: 'And this', body: 'ask bob' })
    ]
    await ann('ackMessage', { message_id: plain })
    await ann('ackMessage', { message_id: asked })
    for (let n = 0; n < budget + 5; n++) await call[n % call.length]!()
    t.strictSame((await ann('attentionOf', {})).pairs, [{ day: '2026-05-01', caller: 'ann', called: 'bob', count: budget + 6, over: 6 }])
    const { events } = await ann('readEvents', { limit: 500 })
    t.equal(events.filter(({ actor, concerns }) => actor === 'ann' && concerns?.includes('bob')).length, budget)
    t.strictSame(events.filter(({ kind }) => kind === 'message_acked').map(({ concerns }) => concerns), [undefined, ['bob']])
  })

  test('a call with a key is done once: sent again it changes nothing, and its result is that of the first; a day later it is forgotten', async (t, store) => {
    const head = (key: string, now = NOW): CallHead => ({ actor: { name: 'ann', kind: 'agent', admin: false }, room: 'ops', now, key })
    const bodies = async (): Promise<string[]> => (await hand(store, 'bob')('readMessages', { since_id: 0 })).messages.map(({ body }) => body)
    const first = await store.run('postMessage', head('a'), { body: 'once' })
    t.ok(first.events.length > 0)
    const again = await store.run('postMessage', head('a'), { body: 'once' })
    t.strictSame(again.result, first.result)
    t.strictSame(again.events, [], 'nobody hears of it twice')
    const both = await Promise.all([1, 2].map(() => store.run('postMessage', head('b'), { body: 'at once' })))
    t.strictSame(both[0]!.result, both[1]!.result)
    t.strictSame(await bodies(), ['once', 'at once'])

    await t.rejects(store.run('addNote', head('c'), { task_id: 1, body: 'a note' }), { code: 'TASK_NOT_FOUND' })
    await hand(store, 'ann')('createTask', { title: 'Ship' })
    t.match((await store.run('addNote', head('c'), { task_id: 1, body: 'a note' })).result, { id: 1 }, 'what was refused was not done')

    const later = NOW + 24 * 60 * MINUTE + 1
    t.strictSame(await hand(store, 'system')('forgetCalls', { limit: 2 }, later), { more: true })
    t.strictSame(await hand(store, 'system')('forgetCalls', { limit: 2 }, later), { more: false })
    await store.run('postMessage', head('a', later), { body: 'once' })
    t.strictSame(await bodies(), ['once', 'at once', 'once'])
  })
}
