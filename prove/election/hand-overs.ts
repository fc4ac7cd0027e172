import { readDaemonFile } from '../../lib/node/daemon-file'
import { eventually, type World } from '../../test/helpers/process'
import { statusOf, untilStatus } from '../../test/helpers/singleton'
import { between } from '../harness'
import { inWorld } from '../in-world'
import { Ledger } from './ledger'
import { Member } from './member'

/** What may befall a daemon. */
export type Event = 'kill' | 'pause' | 'stop' | 'stops' | 'term' | 'leave'

const PAUSE_MS = 4_000

/** Between two asks of one agent while the queue changes hands, in milliseconds. */
const BREATH_MS = 20

interface Reply { id: string, from: number, at: number }

export interface HandOversOptions {
  members: number
  order: readonly Event[]
  next: () => number
  say: (line: string) => void
}

export interface HandOvers {
  broken: string[]
  /** From the instant of the event to the first acknowledged ask of a process that lives on, sent at that instant. */
  takeoverMs: Record<Event, number[]>
  /** The longest that one of them had to wait for an acknowledgement while the queue changed hands: each asks again and again. */
  longestMs: Record<Event, number[]>
  asks: number
  waits: number
  unanswered: number
  entries: number
  writers: number
}

/** Takes one daemon after the other away from agents that have calls under way. */
export const handOvers = ({ members: count, order, next, say }: HandOversOptions): Promise<HandOvers> => inWorld(async world => {
  const ledger = new Ledger()
  const everyone: Member[] = []
  const broken: string[] = []
  const takeoverMs = timesOf()
  const longestMs = timesOf()
  const enter = (): Member => {
    const member = new Member(world, `member-${everyone.length}`, ledger)
    everyone.push(member)
    return member
  }
  let waits = 0
  let members = await Promise.all(Array.from({ length: count }, () => enter().hello()))

  for (const [n, event] of order.entries()) {
    // Each has a ticket that it waits for, over whatever happens.
    const kept = await Promise.all(members.map(async member => ({ member, ticket: await member.ask() })))
    const waiting = kept.flatMap(({ member, ticket }) => ticket === undefined ? [] : [{ ...ticket, member, text: `answer ${n}`, done: member.wait(ticket.id, `answer ${n}`) }])
    await untilStatus(world, status => status.waiting === waiting.length, `${waiting.length} waits`)

    const before = readDaemonFile(world.stateDir)
    const daemon = members.find(({ pid }) => pid === before?.pid)
    if (before === undefined || daemon === undefined) throw new Error(`The daemon of event ${n} is none of the agents`)
    const under = members.map(member => member.ask())
    await new Promise(resolve => { setTimeout(resolve, between(next, 0, 15)) })
    const at = performance.now()
    // Who comes second to stop the daemon may stop the next one.
    if (event === 'stops') for (const member of members) member.doomed = 'perhaps'
    let isOver = false
    const over = befall(world, daemon, event, broken).finally(() => { isOver = true })
    const survivors = members.filter(member => member !== daemon)
    const asked = survivors.map(async member => {
      const replies: Reply[] = []
      for (let last = false; !last;) {
        last = isOver
        const from = performance.now()
        const reply = await member.ask()
        if (reply === undefined) break
        replies.push({ ...reply, from })
        await new Promise(resolve => { setTimeout(resolve, BREATH_MS) })
      }
      return replies
    })
    // Somebody new may come at the very moment there is no daemon.
    const newcomer = event === 'pause' && next() < 0.5 ? undefined : enter()
    if (newcomer !== undefined && event === 'stops') newcomer.doomed = 'perhaps'
    const hello = newcomer?.hello().then(member => member.ask())
    const since = event === 'pause' ? await over : at
    await over
    const rounds = (await Promise.all(asked)).filter(replies => replies.length > 0)
    const first = rounds.map(replies => replies[0]!.at - since)
    if (first.length > 0) {
      takeoverMs[event].push(Math.min(...first))
      longestMs[event].push(Math.max(...rounds.flat().map(({ from, at }) => at - Math.max(from, since))))
    }
    const replies = [...rounds.flat(), ...await Promise.all([...under, hello])]

    if (event !== 'pause') members = survivors
    if (newcomer !== undefined) members = [...members, newcomer]
    const after = await untilStatus(world, ({ running, clients }) => {
      members = members.filter(({ running }) => !running.over)
      return running && clients?.length === members.length - 1
    }, 'a daemon that everybody is attached to')
    for (const member of members) member.doomed = false
    if ((event === 'pause') !== (after.instance === before.instance)) broken.push(`Event ${n}, ${event}: the daemon was ${before.instance} and is ${after.instance}`)
    const ids = [...replies.flatMap(reply => reply === undefined ? [] : [reply.id]), ...waiting.map(({ id }) => id)]
    for (const id of ids) await answer(world, ledger, id, `answer ${n}`)
    await Promise.all(waiting.map(({ done }) => done))
    waits += waiting.length
    while (members.length > count) await dismiss(world, members.pop()!, broken)
    if ((n + 1) % 20 === 0) say(`${n + 1} of ${order.length} events`)
  }

  const status = await statusOf(world)
  if (status.clients?.length !== members.length - 1) broken.push(`${status.clients?.length} clients are attached, of ${members.length - 1}`)
  // What was asked by a process that then ended may still be pending, unknown to anybody.
  const { body } = await world.api<{ tickets: Array<{ id: string, status: string }> }>('/api/tickets')
  for (const { id, status } of body.tickets) if (status === 'pending') await answer(world, ledger, id, 'nobody waits')
  for (const member of members) member.leave()
  for (const { running } of members) await running.finished
  await eventually(() => world.alive().length === 0 || undefined, 'every process to end')
  await free(world)
  const log = await ledger.check(world)
  const unanswered = everyone.reduce((sum, member) => sum + member.unanswered, 0)
  return {
    ...log,
    broken: [...broken, ...everyone.flatMap(member => member.broken), ...log.broken],
    takeoverMs,
    longestMs,
    asks: ledger.acknowledgedCount,
    waits,
    unanswered
  }
})

const timesOf = (): Record<Event, number[]> => ({ kill: [], pause: [], stop: [], stops: [], term: [], leave: [] })

/** Resolves when it is over, with when that was. */
async function befall (world: World, daemon: Member, event: Event, broken: string[]): Promise<number> {
  const ended = async (code: number | null): Promise<void> => {
    const end = await daemon.running.finished
    if (end.code !== code) broken.push(`${event}: the daemon ended with ${end.code ?? end.signal}: ${end.stderr}`)
  }
  switch (event) {
    case 'kill':
      daemon.kill('SIGKILL')
      await ended(null)
      break
    case 'term':
      daemon.kill('SIGTERM')
      await ended(0)
      break
    case 'leave':
      daemon.leave()
      await ended(0)
      break
    case 'pause':
      daemon.kill('SIGSTOP')
      await new Promise(resolve => { setTimeout(resolve, PAUSE_MS) })
      daemon.kill('SIGCONT')
      break
    case 'stop':
    case 'stops': {
      daemon.doomed = true
      const stops = await Promise.all(Array.from({ length: event === 'stop' ? 1 : 3 }, () => world.run(['stop'])))
      for (const { code, stdout, stderr } of stops) {
        // While the queue changes hands there may be nobody to stop, for a moment; the others say who was.
        const isFair = /has taken over/.test(stdout) || (event === 'stops' && /No Ready Room is running/.test(stdout))
        if (code !== 0 || !isFair) broken.push(`${event}: exit code ${code}, ${stdout}${stderr}`)
      }
      if (!stops.some(({ stdout }) => stdout.includes(`pid ${daemon.pid}) has stopped`))) broken.push(`${event}: nobody says that pid ${daemon.pid} was stopped`)
      await ended(0)
    }
  }
  return performance.now()
}

/** The person's answer, sent until it has a reply that counts: it may meet a daemon that is just going. */
async function answer (world: World, ledger: Ledger, id: string, text: string): Promise<void> {
  await eventually(async () => {
    const { status, body } = await world.api<{ ticket?: { answer?: string } }>('/api/answer', { id, answer: text }).catch(() => ({ status: 0, body: {} as { ticket?: { answer?: string } } }))
    return status === 200 || (status === 409 && body.ticket?.answer === text) || undefined
  }, `the answer to ${id}`)
  ledger.answered(id, text)
}

async function dismiss (world: World, member: Member, broken: string[]): Promise<void> {
  member.leave()
  const { code, signal, stderr } = await member.running.finished
  if (code !== 0) broken.push(`${member.name} left and ended with ${code ?? signal}: ${stderr}`)
}

/** Nobody listens on the port any more. */
async function free (world: World): Promise<void> {
  await eventually(() => fetch(`${world.url}/healthz`).then(() => undefined, () => true), 'the port to be free')
}
