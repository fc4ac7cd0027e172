import t from 'tap'
import { ReadyroomError, type ErrorCode } from '../../../lib/errors'
import type { DeliveryMark } from '../../../lib/room/commands/deliveries'
import type { CallHead, CommandName, InputOf } from '../../../lib/room/store'
import { RoomMarks } from '../../../worker/rooms/marks'
import type { InRoom } from '../../../worker/rooms/notes'
import { MemoryNotes } from '../../helpers/notes'

const CALL: CallHead = { actor: { name: 'system', kind: 'system', admin: true }, room: '', now: 0 }

/** Rooms that write down what they are told, or refuse it. */
function open (notes = new MemoryNotes()) {
  const told: string[] = []
  const broken = new Map<string, ErrorCode>()
  const inRoom = async <N extends CommandName>(_name: N, { room }: CallHead, input: InputOf<N>) => {
    const code = broken.get(room)
    if (code !== undefined) throw new ReadyroomError(code, room)
    const { marks } = input as InputOf<'noteDeliveries'>
    told.push(`${room}: ${marks.map(mark => mark.kind === 'read' ? `${mark.asker} read` : mark.ticket_id).join(', ')}`)
    return { result: { tickets: marks.flatMap(mark => mark.kind === 'read' ? [] : [mark.ticket_id]) }, events: [] }
  }
  const marks = new RoomMarks(inRoom as unknown as InRoom, notes)
  return { notes, told, broken, note: async (...all: DeliveryMark[]) => (await marks.note(CALL, all)).result.tickets }
}

const delivered = (asker: string, room: string, id: string): DeliveryMark => ({ kind: 'delivered', asker, at: 'now', room, ticket_id: id, rev: 2 })
const read = (asker: string): DeliveryMark => ({ kind: 'read', asker, at: 'now' })

t.test('each mark goes to the room of its ticket, and a call only to where something is unread', async t => {
  const { told, note, notes } = open()
  t.strictSame(await note(read('ann')), [])
  t.strictSame([told.splice(0), notes.writes], [[], 0], 'an agent that has read everything costs nothing')
  t.strictSame(await note(delivered('ann', 'main', 'k1'), delivered('ann', 'lab', 'k2'), delivered('bob', 'main', 'k3')), ['k1', 'k3', 'k2'])
  t.strictSame(told.splice(0), ['main: k1, k3', 'lab: k2'])
  await note(read('ann'), delivered('ann', 'lab', 'k4'))
  t.strictSame(told.splice(0), ['main: ann read', 'lab: ann read, k4'], 'in order')
  await note(read('ann'))
  await note(read('ann'))
  t.strictSame(told.splice(0), ['lab: ann read'])
})

t.test('an object that slept still knows where something is unread', async t => {
  const { note, notes } = open()
  await note(delivered('ann', 'main', 'k1'))
  const woken = open(notes)
  await woken.note(read('ann'))
  await woken.note(read('bob'))
  t.strictSame(woken.told, ['main: ann read'])
  t.equal(notes.kept.size, 0, 'and nothing is kept of whoever has read everything')
})

t.test('a crash before the room has saved it costs a look, and no mark is said to be read that is not', async t => {
  const { broken, note, notes } = open()
  broken.set('main', 'STORE_UNAVAILABLE')
  await t.rejects(note(delivered('ann', 'main', 'k1')), { code: 'STORE_UNAVAILABLE' })
  const woken = open(notes)
  await woken.note(read('ann'))
  t.strictSame(woken.told, ['main: ann read'])
})

t.test('a room that cannot save is tried three times, and holds up the others no longer; one that is gone is passed over', async t => {
  const { told, broken, note } = open()
  const marks = [delivered('ann', 'main', 'k1'), delivered('ann', 'gone', 'k2'), delivered('ann', 'lab', 'k3')]
  broken.set('main', 'STORE_UNAVAILABLE').set('gone', 'ROOM_NOT_FOUND')
  for (let time = 0; time < 2; time++) await t.rejects(note(...marks), { code: 'STORE_UNAVAILABLE' })
  t.strictSame(told, [])
  t.strictSame(await note(...marks), ['k3'])
  t.strictSame(told, ['lab: k3'])
})
