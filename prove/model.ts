import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MemoryTicketStore } from '../lib/memory-store'
import { FileTicketStore } from '../lib/node/file-store'
import type { Proof, ProofOptions } from './harness'
import { checkModel, type CheckOptions } from './model/check'
import type { Make } from './model/real'

const inMemory: Make = async now => {
  const store = new MemoryTicketStore({ now })
  return { store, drop: () => store.close() }
}

const inFiles: Make = async now => {
  const dir = await mkdtemp(join(tmpdir(), 'readyroom-model-'))
  const open = async (): Promise<FileTicketStore> => {
    const store = new FileTicketStore({ dir, instance: 'model', now })
    await store.load()
    return store
  }
  let store = await open()
  return {
    store,
    async reopen () {
      await store.close()
      store = await open()
      return store
    },
    async drop () {
      await store.close()
      await rm(dir, { recursive: true, force: true })
    }
  }
}

const AMOUNTS: Record<ProofOptions['form'], Record<'memory' | 'files', Omit<CheckOptions, 'seed'>>> = {
  short: { memory: { runs: 150, length: 60 }, files: { runs: 40, length: 60 } },
  long: { memory: { runs: 5_000, length: 150 }, files: { runs: 1_000, length: 150 } }
}

/** Random commands and clocks against a model of the contract, on the stores that Node has. */
export async function model ({ form, seed, say }: ProofOptions): Promise<Proof> {
  const figures: Proof['figures'] = []
  const broken: string[] = []
  for (const [name, make] of [['memory', inMemory], ['files', inFiles]] as const) {
    try {
      const { runs, commands, reopened, events } = await checkModel(make, { seed, ...AMOUNTS[form][name] })
      figures.push([`${name}: sequences; commands; reopened`, `${runs}; ${commands}; ${reopened}`])
      figures.push([`${name}: entries`, Object.entries(events).map(([event, count]) => `${count} ${event}`).join(', ')])
      say(`${name} agrees with the model`)
    } catch (err) {
      broken.push(`${name}: ${(err as Error).message}`)
    }
  }
  return { figures, broken }
}
