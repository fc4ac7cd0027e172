import t from 'tap'
import type { TicketInRoom } from '../../../schemas/api'
import { ReadyroomError } from '../../../lib/errors'
import type { CallHead, CommandName, InputOf } from '../../../lib/room/store'
import { KnownTickets } from '../../../worker/rooms/known-tickets'
import type { InRoom } from '../../../worker/rooms/notes'

const CALL: CallHead = { actor: { name: 'system', kind: 'system', admin: true }, room: '', now: 0 }

/** Rooms that say what a test put there, and are counted. */
function open () {
  const state = { asked: [] as string[], said: {} as Record<string, TicketInRoom>, hold: undefined as Promise<void> | undefined }
  const inRoom = async <N extends CommandName>(_name: N, { room }: CallHead, input: InputOf<N>) => {
    const ids = (input as InputOf<'ticketsInRoom'>).tickets.map(({ id }) => id)
    state.asked.push(`${room}: ${ids.join(' ')}`)
    const said = structuredClone(state.said)
    await state.hold
    if (room === 'gone') throw new ReadyroomError('ROOM_NOT_FOUND', 'There is no room "gone".')
    return { result: { tickets: Object.fromEntries(Object.entries(said).filter(([id]) => ids.includes(id))) }, events: [] }
  }
  const known = new KnownTickets(inRoom as unknown as InRoom)
  const of = async (...places: string[]) => (await known.of(CALL, places.map(place => ({ room: place.split('/')[0]!, id: place.split('/')[1]! })))).result.tickets
  return { state, known, of }
}

const delivery = (rev: number): TicketInRoom => ({ delivery: { rev, saved_at: 'then' } })

t.test('a room is asked once for what a page shows again and again, for what it does not know too, and for a new ticket alone', async t => {
  const { state, of } = open()
  state.said = { k1: delivery(2) }
  for (let read = 0; read < 3; read++) t.strictSame(await of('main/k1', 'main/k2', 'lab/k3'), { k1: delivery(2) })
  t.strictSame(state.asked.splice(0), ['main: k1 k2', 'lab: k3'])
  await of('main/k1', 'main/k4')
  t.strictSame(state.asked, ['main: k4'])
})

t.test('what may change it makes the room be asked anew, another room not, and what only reads neither', async t => {
  const { state, known, of } = open()
  await of('main/k1', 'lab/k2')
  state.asked = []
  state.said = { k1: delivery(2) }
  known.note('postMessage', 'main')
  known.note('whatsNew', 'main')
  t.strictSame(await of('main/k1', 'lab/k2'), {})
  t.strictSame(state.asked, [])
  known.note('applyTickets', 'main')
  t.strictSame(await of('main/k1', 'lab/k2'), { k1: delivery(2) })
  t.strictSame(state.asked, ['main: k1'])
})

t.test('what was read while something changed is shown, and not remembered', async t => {
  const { state, known, of } = open()
  const { promise, resolve } = Promise.withResolvers<void>()
  state.hold = promise
  const early = of('main/k1')
  known.note('noteDeliveries', 'main')
  state.said = { k1: delivery(2) }
  resolve()
  t.strictSame(await early, {})
  t.strictSame(await of('main/k1'), { k1: delivery(2) })
})

t.test('of a room that is gone nothing is known, and the others are shown', async t => {
  const { state, of } = open()
  state.said = { k1: delivery(2) }
  t.strictSame(await of('gone/k0', 'main/k1'), { k1: delivery(2) })
})

t.test('thousands of tickets of a day are not all kept in memory', async t => {
  const { state, of } = open()
  await of(...Array.from({ length: 2_500 }, (_, n) => `main/k${n}`))
  state.asked = []
  await of('main/k1')
  t.strictSame(state.asked, ['main: k1'])
})
