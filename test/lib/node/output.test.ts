import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import t from 'tap'
import { outputTo, plain, table } from '../../../lib/node/output'
import { systemError } from '../../helpers/disk'
import { testFolder } from '../../helpers/folder'

t.test('a text is taken at the pace of its reader', async t => {
  const stream = new PassThrough()
  const out = outputTo(stream)
  t.equal(await out.write('one\n'), true)
  t.equal(await out.write('two\n'), true)
  t.equal(String(stream.read()), 'one\ntwo\n')
})

t.test('a reader that has gone is no failure, and is not written to again', async t => {
  let writes = 0
  const stream = new Writable({
    write (_chunk, _encoding, done) {
      writes++
      done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
    }
  })
  const out = outputTo(stream)
  t.equal(await out.write('one\n'), false)
  await new Promise(resolve => setImmediate(resolve))
  t.equal(await out.write('two\n'), false)
  t.equal(writes, 1)
})

t.test('an output that a full disk does not take is a failure, not a short output', async t => {
  const stream = new Writable({ write (_chunk, _encoding, done) { done(systemError('ENOSPC')) } })
  const out = outputTo(stream)
  await t.rejects(out.write('one\n'), { name: 'RefusedError', exitCode: 1, message: /in full: the disk is full \(ENOSPC\)\. Free some space/ })
  t.equal(await out.write('two\n'), false)
})

t.test('a file gets all of a text, behind what stands in it', async t => {
  const path = join(testFolder(t, { file: 'before\n' }), 'file')
  const fd = openSync(path, 'a')
  const out = outputTo(Object.assign(new PassThrough(), { fd }))
  t.equal(await out.write('one\n'), true)
  t.equal(await out.write('two\n'), true)
  closeSync(fd)
  t.equal(readFileSync(path, 'utf8'), 'before\none\ntwo\n')
})

t.test('text of an agent stays on its line and moves nothing', async t => {
  t.equal(plain('a\r\nb\tc'), 'a b c')
  t.equal(plain('\u001b[2J\u001b]0;title\u0007 here'), '[2J ]0;title here')
  t.equal(plain('left\u202eright\u2066\u200b'), 'leftright')
  t.equal(plain('a\u2028b\ud800c'), 'a bc')
  t.equal(plain('x'.repeat(100)), 'x'.repeat(100))
  t.equal(plain('\u{1f600}'.repeat(101)), `${'\u{1f600}'.repeat(99)}…`)
})

t.test('a table is aligned, and leaves out what there is not', async t => {
  t.equal(table([['page', 'a'], undefined, ['folder', 'b']]), 'page    a\nfolder  b\n')
})
