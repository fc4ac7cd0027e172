import t from 'tap'
import { checkStream } from '../../../lib/lifecycle'
import { streamOf } from '../../../lib/node/stream'

t.test('what was set wins over the folder', async t => {
  t.equal(streamOf('alpha', '/home/lea/beta'), 'alpha')
})

t.test('the name of the folder is the stream', async t => {
  for (const [cwd, stream] of [
    ['/home/lea/my-project', 'my-project'], ['/srv/my repo (v2)', 'my repo (v2)'], ['/srv/büro/', 'büro'], ['/srv/日本', '日本'], ['/srv/.hidden', '.hidden']
  ]) t.equal(streamOf(undefined, cwd!), stream)
})

t.test('a folder that is called what a stream may not be lends what can be used of its name', async t => {
  for (const [folder, stream] of [
    ['a\nb', 'a b'], ['a\u0007\u001b[31mb', 'a [31mb'], [' padded ', 'padded'], ['x'.repeat(255), 'x'.repeat(100)],
    ['\u{1f600}'.repeat(150), '\u{1f600}'.repeat(100)], [`${'y'.repeat(99)} z`, 'y'.repeat(99)], ['a\ud800b', 'a b']
  ] as const) {
    const got = streamOf(undefined, `/srv/${folder}`)
    t.equal(got, stream)
    t.equal(checkStream(got!), got)
  }
})

t.test('where nothing can be seen of a name there is none', async t => {
  for (const cwd of ['/', '', '/srv/ ', '/srv/\n', '/srv/\u200b', '/srv/\u2028']) t.equal(streamOf(undefined, cwd), undefined, encodeURI(cwd))
})
