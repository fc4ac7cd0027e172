import t from 'tap'
import { mentionsIn, nameOfStream, readName } from '../../../lib/room/names'

const called = new Map([['ann', 'ann'], ['box1', 'box1'], ['box', 'box'], ['web-2', 'web-2'], ['v1.2', 'v1.2'], ['nick', 'ann']])
const mentions = (body: string): string[] => mentionsIn(body, called)

t.test('a name is folded, and one that means something else is refused', async t => {
  t.equal(readName('Box1', 'An agent'), 'box1')
  t.equal(readName('a'.repeat(40), 'An agent').length, 40)
  for (const bad of ['', 'a'.repeat(41), '-a', '.a', 'a b', 'a/b', 'é', 'a\n', 'a@b']) t.throws(() => readName(bad, 'An agent'), { code: 'BAD_REQUEST' }, bad)
  for (const reserved of ['me', 'all', 'human', 'owner', 'system', 'System']) t.throws(() => readName(reserved, 'An agent'), { code: 'BAD_REQUEST' })
})

t.test('an agent without a token is named after its stream, and never by a word that means a person or the server', async t => {
  t.equal(nameOfStream('My Project'), 'my-project')
  t.equal(nameOfStream('--'), 'unnamed')
  for (const stream of ['human', 'Owner', 'SYSTEM', 'me', 'all', '.human', 'h\u{FF55}man']) {
    const name = nameOfStream(stream)
    t.match(name, /-agent$/, stream)
    t.equal(readName(name, 'An agent'), name)
  }
})

t.test('a name is a mention with an at sign or bare, in any case, once each, in the order of the text', async t => {
  t.strictSame(mentions('@box1 and ANN, then @Ann'), ['box1', 'ann'])
  t.strictSame(mentions('ask web-2.'), ['web-2'], 'a full stop ends the sentence')
  t.strictSame(mentions('v1.2 is out'), ['v1.2'], 'a full stop inside is part of the name')
  t.strictSame(mentions('Nick?'), ['ann'], 'an alias is the agent')
  t.strictSame(mentions('(box1) "ann"! @box:'), ['box1', 'ann', 'box'])
})

t.test('a name inside a longer word, an address or a path is no mention', async t => {
  for (const body of ['boxes', 'box12', 'mybox', 'box-1', 'box.local', 'éann', 'anné', 'me@box1', 'ann@example.org', 'https://example.org/ann', 'a/box1', 'x.ann', '_ann', 'ann_x']) {
    t.strictSame(mentions(body), [], body)
  }
})

t.test('a name in code is no mention, fenced or in a line, and an open fence goes to the end', async t => {
  t.strictSame(mentions('run `ann` and ``box1 ` box``'), [])
  t.strictSame(mentions('```\nann\n``` but box1'), ['box1'])
  t.strictSame(mentions('~~~sh\n@ann\n~~~\n@box'), ['box'])
  t.strictSame(mentions('box1\n```\nann'), ['box1'])
  t.strictSame(mentions('a lone ` does not hide ann'), ['ann'])
})

t.test('a long text without any name is read in a moment', async t => {
  t.strictSame(mentions('x'.repeat(16_384)), [])
  t.strictSame(mentions('`'.repeat(16_384)), [])
  t.strictSame(mentions('@a.'.repeat(5_000)), [])
})
