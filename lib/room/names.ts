import { ReadyroomError } from '../errors'

const NAME = /^[a-z0-9][a-z0-9._-]{0,39}$/
const RESERVED = ['me', 'all', 'human', 'owner', 'system']

/** Names are compared folded: two that differ in case alone are one. */
export const fold = (name: string): string => name.toLowerCase()

/**
 * The name of an agent or a room, in the one form that is stored.
 * @throws BAD_REQUEST when it is none, or one that means something else.
 */
export function readName (name: string, what: string): string {
  const folded = fold(name)
  if (!NAME.test(folded)) {
    throw new ReadyroomError('BAD_REQUEST',
      `${what} must have 1 to 40 letters a to z, digits, dots, underscores or hyphens, and begin with a letter or a digit; got ${JSON.stringify(name.slice(0, 100))}.`)
  }
  if (RESERVED.includes(folded)) throw new ReadyroomError('BAD_REQUEST', `${what} may not be ${JSON.stringify(folded)}: that word is reserved.`)
  return folded
}

/** A name for an agent that has no token, made of its stream. Never one that means something else: a folder may be called anything. */
export function nameOfStream (stream: string): string {
  const name = fold(stream).normalize('NFKD').replace(/[^a-z0-9._-]+/g, '-').replace(/^[^a-z0-9]+/, '').slice(0, 40)
  if (name === '') return 'unnamed'
  return RESERVED.includes(name) ? `${name}-agent` : name
}

/**
 * A text without its code, which speaks of things and calls nobody: what stands between two runs of as many backticks, or
 * of three tildes and more. A fence that is never closed goes to the end; a lone backtick is a character.
 */
function withoutCode (text: string): string {
  const runs = [...text.matchAll(/`+|~{3,}/g)].map(({ 0: run, index }) => ({ run, index }))
  const ends = new Map<string, number[]>()
  for (let at = runs.length - 1; at >= 0; at--) {
    const { run } = runs[at]!
    const same = ends.get(run)
    if (same === undefined) ends.set(run, [at])
    else same.push(at)
  }
  let left = ''
  let from = 0
  for (let at = 0; at < runs.length; at++) {
    const { run, index } = runs[at]!
    const same = ends.get(run)!
    while (same.length > 0 && same.at(-1)! <= at) same.pop()
    const close = same.at(-1)
    if (close === undefined && run.length < 3) continue
    left += `${text.slice(from, index)} `
    if (close === undefined) return left
    from = runs[close]!.index + run.length
    at = close
  }
  return left + text.slice(from)
}

/** A name as it stands in a text, with what is around it: what belongs to a longer word, a path or an address is no mention. */
const WORD = /(?<![\p{L}\p{N}_.\-/@])@?([a-z0-9][a-z0-9._-]*)(?![\p{L}\p{N}_@/])/giu

/**
 * Who is mentioned in a text: `@name`, or the bare name or an alias of it, as a word of its own. Each agent once, in the
 * order of the text.
 * @param called every name and alias, folded, with the agent it stands for.
 */
export function mentionsIn (body: string, called: ReadonlyMap<string, string>): string[] {
  const found = new Set<string>()
  for (const { 1: word = '' } of withoutCode(body).matchAll(WORD)) {
    const folded = fold(word)
    // A full stop at the end is the sentence's, unless a name ends so.
    const agent = called.get(folded) ?? called.get(folded.replace(/[._-]+$/, ''))
    if (agent !== undefined) found.add(agent)
  }
  return [...found]
}
