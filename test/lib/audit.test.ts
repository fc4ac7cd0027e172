import { createHash } from 'node:crypto'
import t from 'tap'
import { checkLine, checkNext, EMPTY_HEAD, headAt, NO_HASH, seal, textHash } from '../../lib/audit'
import { decide } from '../helpers/decisions'

const place = { head: EMPTY_HEAD, batch: 1, instance: 'here' }

t.test('a line is its entry in a fixed order of fields, sealed by the SHA-256 of what precedes the hash', async t => {
  const { entry, line } = seal(decide('one'), place)
  t.strictSame(JSON.parse(line), entry)
  t.strictSame(Object.keys(JSON.parse(line)),
    ['seq', 'batch', 'at', 'event', 'id', 'stream', 'actor', 'instance', 'ticket', 'prev', 'hash'])
  const { hash, ...rest } = entry
  t.equal(hash, createHash('sha256').update(JSON.stringify(rest)).digest('hex'))
  t.equal(line, `${JSON.stringify(rest).slice(0, -1)},"hash":"${hash}"}`)
  t.equal(entry.prev, NO_HASH)
  t.match(NO_HASH, /^0{64}$/)
})

t.test('the hash for any runtime is the hash of node:crypto, for text of every script too', async t => {
  for (const text of ['', 'abc', 'ä€😀'.repeat(1_000), '\u0000\u2028']) {
    t.equal(textHash(text), createHash('sha256').update(text).digest('hex'))
  }
})

t.test('an entry is checked with the text it was written as, whatever its ticket says', async t => {
  const question = 'quote " backslash \\ ,"hash":"00"} half a pair \ud800 and a line\nbreak'
  const { entry, line } = seal(decide('one', { question }), place)
  t.notMatch(line, '\n')
  t.strictSame(checkLine(line).entry, JSON.parse(JSON.stringify(entry)))
})

t.test('no single character of a line can change unnoticed', async t => {
  const { line } = seal(decide('one'), place)
  const unnoticed: number[] = []
  for (let i = 0; i < line.length; i++) {
    const changed = line.slice(0, i) + (line[i] === 'x' ? 'y' : 'x') + line.slice(i + 1)
    if (checkLine(changed).fault === undefined) unnoticed.push(i)
  }
  t.strictSame(unnoticed, [])
  t.match(checkLine(line.slice(0, -1)).fault, 'does not end in its hash')
  t.match(checkLine('').fault, 'is empty')
  t.match(checkLine(' ' + line).fault, 'does not match')
})

t.test('what was sealed by hand over something that is no entry is still refused', async t => {
  const sealed = (text: string) => `${text.slice(0, -1)},"hash":"${textHash(text)}"}`
  t.match(checkLine(sealed('{"seq":1}')).fault, 'lacks a field')
  t.match(checkLine(sealed('{"seq":}')).fault, 'is not JSON')
  const { hash, ...rest } = seal(decide('one'), place).entry
  t.match(checkLine(sealed(JSON.stringify({ ...rest, id: 'two' }))).fault, 'lacks a field')
  t.match(checkLine(sealed(JSON.stringify({ ...rest, batch: 2 }))).fault, 'lacks a field')
})

t.test('an entry follows only the seq and the hash before it', async t => {
  const first = seal(decide('one'), place)
  const head = headAt(first.entry)
  t.strictSame(head, { seq: 1, hash: first.entry.hash, at: first.entry.at })
  const second = seal(decide('two'), { ...place, head, batch: 2 })
  t.equal(second.entry.prev, first.entry.hash)
  t.strictSame(checkNext(second.line, head).entry, second.entry)
  t.match(checkNext(first.line, head).fault, 'carries seq 1 where 2 follows')
  t.match(checkNext(second.line, { ...head, hash: NO_HASH }).fault, 'does not name the hash')
})
