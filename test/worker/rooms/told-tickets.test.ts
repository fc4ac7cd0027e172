import t from 'tap'
import type { AuditEntry } from '../../../schemas/event'
import { answer, enqueue, mintId } from '../../../lib/lifecycle'
import type { Decision } from '../../../lib/store'
import type { CallHead } from '../../../lib/room/store'
import { NOWHERE, type Place, type Telling } from '../../../worker/rooms/history'
import { ToldTickets } from '../../../worker/rooms/told-tickets'
import { MemoryNotes } from '../../helpers/notes'

const NOW = Date.parse('2026-05-01T10:00:00.000Z')
const CALL: CallHead = { actor: { name: 'system', kind: 'system', admin: true }, room: '', now: NOW }

/** A queue's log and its notes, which can both be taken back, and rooms that know where they stand. */
function open (notes = new MemoryNotes(), log: AuditEntry[] = [], rooms = new Map<string, { stands: Place, told: number[] }>()) {
  const warnings: string[] = []
  const sent: Array<{ room: string, seqs: number[], anew: boolean, lost?: string }> = []
  let lost = 0
  const roomOf = (name: string) => {
    const room = rooms.get(name) ?? { stands: NOWHERE, told: [] }
    rooms.set(name, room)
    return room
  }
  const told = new ToldTickets({
    notes,
    inRoom: async () => { throw new Error('Nobody is asked') },
    async tell ({ room }, { entries, after, lost_since: since }: Telling, anew) {
      const it = roomOf(room)
      sent.push({ room, seqs: entries.map(({ seq }) => seq), anew, ...(since !== undefined && { lost: since }) })
      if (since === undefined && (it.stands.seq !== after.seq || it.stands.hash !== after.hash)) return { result: { stands: it.stands }, events: [] }
      it.told.push(...entries.map(({ seq }) => seq))
      it.stands = { seq: entries.at(-1)!.seq, hash: entries.at(-1)!.hash }
      return { result: {}, events: [] }
    },
    since: async (seq, limit) => log.filter(entry => entry.seq > seq).slice(0, limit),
    log: { warn: (_details, message) => { warnings.push(message) } },
    onLost () { lost++ }
  })
  return {
    notes,
    log,
    rooms,
    warnings,
    sent,
    told,
    lost: () => lost,
    /** Commits, and tells what was not told yet. */
    async commit (day: string, ...decisions: Decision[]): Promise<void> {
      for (const { ticket, event } of decisions) {
        const seq = log.length + 1
        log.push({ seq, batch: seq, ...event, id: ticket.id, stream: ticket.stream, instance: 'test', ticket, prev: '', hash: `${day} ${seq}` })
      }
      await told.apply(CALL, log.filter(({ seq }) => seq > told.applied))
    },
    /** As the queue is now, to go back to. */
    keep: () => ({ log: [...log], kept: new Map(notes.kept) })
  }
}

const asked = (room?: string): Decision => enqueue({ stream: 'ann', question: 'Ship it?', ...(room !== undefined && { room, asker: 'ann' }) }, mintId(NOW), NOW)

t.test('as long as nobody was taken back each room is told once, with one call, and nothing is said', async t => {
  const { commit, sent, warnings } = open()
  await commit('one', asked('main'), asked('lab'), asked(), asked('main'))
  await commit('one', asked('lab'))
  t.match(sent, [{ room: 'main', seqs: [1, 4] }, { room: 'lab', seqs: [2] }, { room: 'lab', seqs: [5] }])
  t.equal(sent.length, 3)
  t.strictSame(warnings, [])
})

t.test('a room that has been told more than was noted, as after a crash between the two, is told nothing twice', async t => {
  const { commit, notes, rooms, sent, warnings, log } = open()
  await commit('one', asked('main'))
  const kept = new Map(notes.kept)
  await commit('one', asked('main'))
  notes.kept.clear()
  for (const [name, value] of kept) notes.kept.set(name, value)
  await commit('one', asked('main'))
  t.strictSame(rooms.get('main')!.told, [1, 2, 3])
  t.strictSame(sent.slice(2).map(({ seqs }) => seqs), [[2, 3], [3]])
  t.strictSame([warnings, log.length], [[], 3])
})

t.test('a queue that was taken back tells each room from the last entry that both have, the room that is behind it as well', async t => {
  const before = open()
  await before.commit('one', asked('main'), asked('lab'), asked('main'))
  const { log, kept } = before.keep()
  await before.commit('one', asked('main'), asked('lab'), asked('main'), asked('main'))
  const notes = new MemoryNotes()
  for (const [name, value] of kept) notes.kept.set(name, value)
  const { commit, sent, warnings, rooms, lost } = open(notes, log, before.rooms)
  await commit('two', asked('main'))
  t.match(sent.splice(0), [{ room: 'main', seqs: [4] }, { room: 'main', seqs: [4], lost: log[2]!.at }])
  t.match(warnings, [/not in the audit log/])
  t.equal(lost(), 1)
  await commit('two', asked('main'))
  t.equal(warnings.length, 1, 'it is said once')
  // The other room hears of it when the log is longer than it ever was.
  await commit('two', asked('main'), asked('main'), asked('main'), asked('lab'))
  t.match(sent.filter(({ room }) => room === 'lab'), [{ seqs: [9] }, { seqs: [9], lost: log[1]!.at }])
  t.equal(rooms.get('lab')!.stands.hash, 'two 9')
  t.equal(warnings.length, 2)
})

t.test('a room that was taken back is told again, however long that was, and asks who holds a token', async t => {
  const { commit, rooms, sent, warnings } = open()
  await commit('one', asked('lab'), asked('main'), asked('main'))
  const then = rooms.get('main')!.stands
  for (let n = 0; n < 150; n++) await commit('one', asked(n % 2 === 0 ? 'main' : 'lab'))
  Object.assign(rooms.get('main')!, { stands: then, told: [2, 3] })
  sent.length = 0
  await commit('one', asked('main'))
  t.strictSame(rooms.get('main')!.told, [2, 3, ...Array.from({ length: 75 }, (_, n) => 4 + 2 * n), 154])
  t.strictSame(sent.map(({ anew }) => anew), [false, true, false])
  t.match(warnings, [/earlier day/])
})

t.test('a room that was deleted and made again is told nothing of the one before, wherever it is taken back to', async t => {
  const { commit, told, rooms } = open()
  await commit('one', asked('main'), asked('main'))
  told.forget('main')
  rooms.delete('main')
  await commit('one', asked('main'))
  t.strictSame(rooms.get('main')!.told, [3])
  rooms.delete('main')
  await commit('one', asked('main'))
  t.strictSame(rooms.get('main')!.told, [3, 4])
})

t.test('rooms from before such places were kept go on where they stand', async t => {
  const { commit, notes, rooms, sent, warnings } = open()
  await commit('one', asked('main'), asked('main'))
  rooms.get('main')!.stands = { seq: 2, hash: '' }
  notes.delete('rooms:told:main')
  await commit('one', asked('main'))
  t.strictSame(sent.slice(1).map(({ seqs }) => seqs), [[3], [3]])
  t.strictSame([rooms.get('main')!.told, warnings], [[1, 2, 3], []])
})

t.test('a ticket of no room is told to where somebody waits for it, as long as it can come back', async t => {
  const { commit, told, sent, notes } = open()
  const ticket = asked()
  await commit('one', ticket)
  t.strictSame(sent, [], 'nobody waits')
  await told.waitingIn('main', async () => {}, ticket.ticket.id)
  const answered = answer(ticket.ticket, 'yes', 'human', NOW)
  await commit('one', answered)
  t.match(sent, [{ room: 'main', seqs: [2] }])
  const other = asked()
  await told.waitingIn('main', async () => {}, other.ticket.id)
  await commit('one', other, answer(other.ticket, 'yes', 'human', NOW + 2 * 3_600_000))
  t.strictSame(Object.keys(notes.get<object>('rooms:roomless')!), [other.ticket.id], 'hours later the first one is forgotten')
})
