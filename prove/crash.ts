import { CrashWorld, type Setting, type Totals } from './crash-world'
import { type Form, type Proof, type ProofOptions, random } from './harness'
import type { Ledger } from './ledger'

const times = (count: number, setting: Setting): Setting[] => Array.from({ length: count }, () => setting)

/** State folders, each with so many kills: what a run has to remember is bounded by one of them. */
const SETTINGS: Record<Form, Setting[]> = {
  short: [
    { owner: 'service', loss: 'process', kills: 6 },
    { owner: 'agents', loss: 'process', kills: 4 },
    { owner: 'service', loss: 'power', kills: 9 },
    // A folder that is new knows dangers of its own.
    ...times(2, { owner: 'service', loss: 'power', kills: 1 }),
    { owner: 'agents', loss: 'power', kills: 4 }
  ],
  long: [
    ...times(4, { owner: 'service', loss: 'process', kills: 30 }),
    ...times(4, { owner: 'agents', loss: 'process', kills: 25 }),
    ...times(6, { owner: 'service', loss: 'power', kills: 30 }),
    ...times(20, { owner: 'service', loss: 'power', kills: 2 }),
    ...times(4, { owner: 'agents', loss: 'power', kills: 20 })
  ]
}

/** Kills the daemon under load, again and again, cuts the power of half of them, and looks at what it has promised. */
export async function crash ({ form, seed, say }: ProofOptions): Promise<Proof> {
  const next = random(seed)
  const broken: string[] = []
  const totals: Totals = { kills: { 'at work': 0, closing: 0, starting: 0 }, recoveries: [], ledgers: [], entries: 0, left: new Map() }
  for (const [i, setting] of SETTINGS[form].entries()) {
    broken.push(...await CrashWorld.run(setting, `${i}`, next, totals))
    say(`${setting.owner}, ${setting.kills} kills that take the ${setting.loss}: ${broken.length} broken promises so far`)
  }
  return { broken, figures: figuresOf(totals) }
}

function figuresOf ({ kills, ledgers, recoveries, entries, left }: Totals): Proof['figures'] {
  const sum = (of: (ledger: Ledger) => number): string => ledgers.reduce((all, ledger) => all + of(ledger), 0).toLocaleString('en-US')
  const sorted = recoveries.toSorted((a, b) => a - b)
  return [
    ...Object.entries(kills).map(([instant, count]) => [`killed while ${instant}`, String(count)] as const),
    ['commands acknowledged', sum(({ counts }) => counts.acknowledged)],
    ['commands without an answer', sum(({ counts }) => counts.unsaid)],
    ['of those, there all the same', sum(({ counts }) => counts.unsaidButThere)],
    ['entries in the audit logs', entries.toLocaleString('en-US')],
    ['from a kill to the next daemon, median and longest', `${sorted[sorted.length >> 1]?.toFixed(0)} and ${sorted.at(-1)?.toFixed(0)} ms`],
    ...[...left].sort().map(([what, count]) => [`a power cut left ${what}`, String(count)] as const)
  ]
}
