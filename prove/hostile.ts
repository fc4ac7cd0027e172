import type { Proof, ProofOptions } from './harness'
import { browserAttacks } from './hostile/browser'
import { fuzz } from './hostile/fuzz'
import { siege } from './hostile/siege'

/** Everything that a hostile caller can send, every way to be slow or too much, and what a page of somebody else can do. */
export async function hostile (options: ProofOptions): Promise<Proof> {
  const proofs: Proof[] = []
  for (const part of [browserAttacks, fuzz, siege]) proofs.push(await part(options))
  return { figures: proofs.flatMap(({ figures }) => figures), broken: proofs.flatMap(({ broken }) => broken) }
}
