import type { AuditEntry, EventName } from '../../schemas/event'
import type { World } from '../../test/helpers/process'

interface Asked { id: string | undefined, mayBeLost: boolean }

/** What was asked for and what was acknowledged, so that the audit log can be held against it. */
export class Ledger {
  readonly #asked = new Map<string, Asked>()
  readonly #answered = new Map<string, string>()

  /** A question that is asked once; it is in the log exactly once unless it is said to be lost. */
  asks (question: string): void { this.#asked.set(question, { id: undefined, mayBeLost: false }) }

  acknowledged (question: string, id: string): void { this.#asked.get(question)!.id = id }

  /** Its process ended before there was a reply: it may be in the log, but not twice. */
  excused (question: string): void { this.#asked.get(question)!.mayBeLost = true }

  answered (id: string, text: string): void { this.#answered.set(id, text) }

  get acknowledgedCount (): number { return [...this.#asked.values()].filter(({ id }) => id !== undefined).length }

  /** Each way in which the log of this world is at odds with what was said, and what the log holds. */
  async check (world: World): Promise<{ broken: string[], entries: number, writers: number }> {
    const broken: string[] = []
    const { code, stdout, stderr } = await world.run(['audit', '--verify', '--json'])
    if (code !== 0) broken.push(`The chain does not verify: ${stdout}${stderr}`)
    const entries = (await world.run(['audit', '--json'])).stdout.split('\n').slice(0, -1).map(line => JSON.parse(line) as AuditEntry)

    const runs = entries.map(({ instance }) => instance).filter((instance, i, all) => instance !== all[i - 1])
    const writers = new Set(runs)
    for (const instance of writers) {
      if (runs.filter(other => other === instance).length > 1) broken.push(`Instance ${instance} wrote, another did, and then it wrote again`)
    }

    const enqueued = by(entries, 'enqueued', ({ ticket }) => ticket.question)
    for (const [question, { id, mayBeLost }] of this.#asked) {
      const found = enqueued.get(question) ?? []
      if (found.length > 1) broken.push(`"${question}" is there ${found.length} times: ${found.map(({ id }) => id).join(', ')}`)
      if (id !== undefined && found[0]?.id !== id) broken.push(`"${question}" was acknowledged as ${id} and is ${found[0]?.id ?? 'nowhere'}`)
      if (id === undefined && !mayBeLost) broken.push(`"${question}" had no reply`)
    }
    for (const question of enqueued.keys()) if (!this.#asked.has(question)) broken.push(`Nobody asked "${question}"`)

    const answers = by(entries, 'answered', ({ id }) => id)
    for (const [id, text] of this.#answered) {
      const found = answers.get(id) ?? []
      if (found.length !== 1 || found[0]!.ticket.answer !== text) broken.push(`Ticket ${id} was answered "${text}", and the log holds ${found.length} answers`)
    }
    return { broken, entries: entries.length, writers: writers.size }
  }
}

function by (entries: readonly AuditEntry[], event: EventName, keyOf: (entry: AuditEntry) => string): Map<string, AuditEntry[]> {
  const groups = new Map<string, AuditEntry[]>()
  for (const entry of entries) {
    if (entry.event !== event) continue
    const key = keyOf(entry)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [entry])
    else group.push(entry)
  }
  return groups
}
