import t, { type Test } from 'tap'
import { Desk } from '../../lib/desk'
import { Doors } from '../../lib/doors'
import { Identity } from '../../lib/identity'
import { MemoryTicketStore } from '../../lib/memory-store'
import { PrincipalDesk } from '../../lib/principal-desk'
import { OWNER, type Principal, type Role } from '../../lib/principal'
import { hashOf, newToken, TokenBook } from '../../lib/room/token-book'
import type { Decision } from '../../lib/store'
import type { AuditEntry } from '../../schemas/event'

/** A store that tells what it wrote into the audit log. */
class Recorder extends MemoryTicketStore {
  readonly entries: AuditEntry[] = []

  override async commit (decision: Decision): Promise<AuditEntry> {
    const entry = await super.commit(decision)
    this.entries.push(entry)
    return entry
  }
}

/** Longer than the test may take: a wait that ends, ended for another reason. */
const LONG = { ms: 600_000 }

async function open (t: Test) {
  const clock = { at: Date.now() }
  const store = new Recorder()
  const desk = await new Desk(store).open()
  t.teardown(() => desk.close())
  const tokens = new TokenBook()
  tokens.initialised = true
  const identity = new Identity({ tokens, now: () => clock.at })
  const doors = new Doors({ desk, identity })
  let id = 0
  const enter = (agent: string, more: { role?: Role, home?: string, rooms?: string[], expires_at?: string } = {}): Principal => {
    const token = newToken()
    tokens.add({ id: ++id, agent, role: 'agent', home: 'main', rooms: [], all_rooms: false, created_at: '2026-12-01T00:00:00.000Z', ...more, hash: hashOf(token) })
    return identity.ofAgent(token)
  }
  const deskOf = (principal: Principal): PrincipalDesk => doors.deskOf(principal) as PrincipalDesk
  return { desk, store, tokens, clock, enter, deskOf }
}

t.test('an agent asks under its own name or a part of it, into its home room', async t => {
  const { enter, deskOf } = await open(t)
  const ann = deskOf(enter('ann'))
  t.match(await ann.ask({ stream: 'ann', question: 'Ship it?' }), { stream: 'ann', room: 'main', asker: 'ann' })
  t.match(await ann.ask({ stream: 'ann/tests', question: 'Ship it?' }), { stream: 'ann/tests', asker: 'ann' })
  for (const stream of ['bob', 'anna', 'Ann', 'bob/ann', 'ann/', 'ann//b', 'ann/b/', 'ann/ ', 'ann/\u200b/b']) {
    t.throws(() => ann.ask({ stream, question: 'Ship it?' }), { code: 'BAD_REQUEST', message: /the name of your token/ }, stream)
  }
})

t.test('another agent of the room sees a ticket, and neither waits for it nor cancels it; of another room it is not there', async t => {
  const { enter, deskOf } = await open(t)
  const { id } = await deskOf(enter('ann')).ask({ stream: 'ann', question: 'Ship it?' })
  const bob = deskOf(enter('bob'))
  t.equal((await bob.get(id)).id, id)
  await t.rejects(bob.wait(id, LONG), { code: 'NOT_YOUR_TICKET' })
  await t.rejects(bob.cancel(id), { code: 'NOT_YOUR_TICKET' })
  const far = deskOf(enter('eve', { home: 'annex' }))
  await t.rejects(far.get(id), { code: 'TICKET_NOT_FOUND' })
  await t.rejects(far.wait(id, LONG), { code: 'TICKET_NOT_FOUND' })
  await t.rejects(far.cancel(id), { code: 'TICKET_NOT_FOUND' })
  t.strictSame((await far.pending()).tickets, [])
  t.strictSame((await deskOf(enter('two', { home: 'annex', rooms: ['main'] })).pending()).tickets.map(ticket => ticket.id), [id])
})

t.test('an approver answers in its rooms alone, and under its own name whatever the label says', async t => {
  const { desk, store, enter, deskOf } = await open(t)
  const { id } = await deskOf(enter('ann')).ask({ stream: 'ann', question: 'Ship it?' })
  const far = new PrincipalDesk(desk, enter('far', { role: 'approver', home: 'annex' }))
  await t.rejects(far.answer(id, 'Yes'), { code: 'TICKET_NOT_FOUND' })
  const eve = new PrincipalDesk(desk, enter('eve', { role: 'approver' }))
  t.match(await eve.answer(id, 'Yes', 'somebody else'), { status: 'answered', answer: 'Yes' })
  await t.rejects(far.undo(id), { code: 'TICKET_NOT_FOUND' })
  t.match(await eve.undo(id), { status: 'pending' })
  t.strictSame(store.entries.map(({ actor }) => actor), ['ann', 'eve', 'eve'])
})

t.test('a wait ends at once when its token is revoked, and goes on when another is', async t => {
  const { desk, tokens, enter, deskOf } = await open(t)
  const ann = enter('ann')
  const bob = enter('bob')
  const { id } = await deskOf(ann).ask({ stream: 'ann', question: 'Ship it?' })
  const waiting = deskOf(ann).wait(id, LONG)
  while (desk.waiting === 0) await new Promise(resolve => setImmediate(resolve))
  tokens.revoke([bob.token!])
  await new Promise(resolve => setImmediate(resolve))
  t.equal(desk.waiting, 1)
  tokens.revoke([ann.token!])
  await t.rejects(waiting, { code: 'NOT_YOUR_TICKET', message: /revoked/ })
  t.equal(desk.waiting, 0)
  await t.rejects(deskOf(ann).wait(id, LONG), { message: /revoked/ }, 'one that begins afterwards ends at once too')
})

t.test('an answer that comes when the token is over is not told', async t => {
  const { desk, clock, enter, deskOf } = await open(t)
  const ann = enter('ann', { expires_at: new Date(clock.at + 60_000).toISOString() })
  const { id } = await deskOf(ann).ask({ stream: 'ann', question: 'Ship it?' })
  const waiting = deskOf(ann).wait(id, LONG)
  while (desk.waiting === 0) await new Promise(resolve => setImmediate(resolve))
  clock.at += 60_000
  await desk.answer(id, 'Yes', OWNER)
  await t.rejects(waiting, { code: 'NOT_YOUR_TICKET', message: /expired/ })
})
