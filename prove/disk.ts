import { AILMENTS, SmallDisk } from './ailments'
import { type DiskTotals, DiskWorld } from './disk-world'
import { type Proof, type ProofOptions, random } from './harness'
import type { Ledger } from './ledger'

/** How often each disk falls ill; every second time the daemon is killed before it is well again. */
const TIMES = { short: 2, long: 12 } as const

/** Lets the disk fail under load in every way that disks have, and looks at what was promised while it did and afterwards. */
export async function disk ({ form, seed, say }: ProofOptions): Promise<Proof> {
  const next = random(seed)
  const broken: string[] = []
  const totals: DiskTotals = { ledgers: [], entries: 0, refused: new Map(), recoveries: [], slowestRefusal: 0, unsure: 0, reads: 0, kills: 0 }
  for (const ailment of AILMENTS) {
    broken.push(...await DiskWorld.run(ailment, TIMES[form], next, totals))
    say(`${ailment.name}: ${broken.length} broken promises so far`)
  }
  const full = AILMENTS.find(({ name }) => name === 'full')!
  const small = SmallDisk.canBeHad()
  if (small) broken.push(...await DiskWorld.run(full, TIMES[form], next, totals, { small }))
  say(`really full: ${small ? `${broken.length} broken promises so far` : 'left out, since no file system can be mounted here'}`)

  const sum = (of: (ledger: Ledger) => number): string => totals.ledgers.reduce((all, ledger) => all + of(ledger), 0).toLocaleString('en-US')
  const sorted = totals.recoveries.toSorted((a, b) => a - b)
  return {
    broken,
    figures: [
      ['commands acknowledged', sum(({ counts }) => counts.acknowledged)],
      ...[...totals.refused].map(([what, count]) => [`refused by a disk: ${what}`, count.toLocaleString('en-US')] as const),
      ['a real file system, really full', small ? 'yes' : 'left out: none can be mounted here'],
      ['told that it may be there at the next start', totals.unsure.toLocaleString('en-US')],
      ['reads while the disk was ill', totals.reads.toLocaleString('en-US')],
      ['daemons killed while the disk was ill', String(totals.kills)],
      ['the longest wait for a refusal', `${totals.slowestRefusal.toFixed(0)} ms`],
      ['from a well disk to the next acknowledgement, median and longest', `${sorted[sorted.length >> 1]?.toFixed(0)} and ${sorted.at(-1)?.toFixed(0)} ms`],
      ['entries in the audit logs', totals.entries.toLocaleString('en-US')]
    ]
  }
}
