import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

export interface Box { language: string, text: string, line: number }

/** The fenced boxes of a page, in order. `line` is where the text begins, from 1. */
export function boxesOf (page: string): Box[] {
  const boxes: Box[] = []
  let open: Box | undefined
  for (const [at, line] of readFileSync(join(root, page), 'utf8').split('\n').entries()) {
    const fence = /^```(\w*)\s*$/.exec(line)
    if (fence === null) {
      if (open !== undefined) open.text += `${line}\n`
    } else if (open === undefined) {
      open = { language: fence[1]!, text: '', line: at + 2 }
    } else {
      boxes.push(open)
      open = undefined
    }
  }
  if (open !== undefined) throw new Error(`${page}:${open.line}: the box is never closed`)
  return boxes
}

/** The boxes of one language. @throws where there is none, so that a test does not pass on nothing */
export function boxesIn (page: string, language: string): string[] {
  const found = boxesOf(page).filter(box => box.language === language).map(({ text }) => text)
  if (found.length === 0) throw new Error(`${page} has no box of ${language}`)
  return found
}

/** The commands of a box for the shell, one a line: comments are left out, and continued lines joined. */
export function commandsOf (text: string): string[] {
  return text.replaceAll(/\\\n\s*/g, '').split('\n').map(line => line.replace(/(^|\s)#.*$/, '').trim()).filter(Boolean)
}
