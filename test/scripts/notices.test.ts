import t from 'tap'
import { noticesOf } from '../../scripts/notices.mjs'

const manifest = (more: object): string => JSON.stringify({ name: 'some', version: '1.2.3', license: 'MIT', ...more })
const meta = (...files: Array<[string, number]>) => ({ outputs: { 'dist/core.mjs': { inputs: Object.fromEntries(files.map(([file, bytesInOutput]) => [file, { bytesInOutput }])) } } })

t.test('each package that has bytes in the bundle is named once, with its licence and the text of it', async t => {
  const root = t.testdir({
    node_modules: {
      some: { 'package.json': manifest({}), 'LICENSE.md': 'Permission is granted to some.', lib: {} },
      '@scope': { other: { 'package.json': manifest({ name: '@scope/other', license: 'ISC' }), LICENCE: 'other words', NOTICE: 'and a notice' } },
      outer: { node_modules: { some: { 'package.json': manifest({ version: '2.0.0' }), license: 'the second' } } },
      unused: { 'package.json': manifest({ name: 'unused' }) }
    }
  })
  const text = await noticesOf(meta(
    ['cli.ts', 10], ['node_modules/some/a.js', 1], ['node_modules/some/lib/b.js', 1], ['node_modules/@scope/other/x.js', 5],
    ['node_modules/outer/node_modules/some/a.js', 1], ['node_modules/unused/index.js', 0]), root)
  t.match(text, /\n {2}@scope\/other 1\.2\.3 \(ISC\)\n {2}some 1\.2\.3 \(MIT\)\n {2}some 2\.0\.0 \(MIT\)\n/)
  t.match(text, /Permission is granted to some\./)
  t.match(text, /other words\n\nand a notice/)
  t.notMatch(text, /unused|cli\.ts/)
  t.equal(text.match(/^some 1\.2\.3/gm)?.length, 1)
})

t.test('a package without the text is named with whose it is; one without a licence cannot be shipped', async t => {
  const root = t.testdir({
    node_modules: {
      bare: { 'package.json': manifest({ name: 'bare', author: { name: 'A. Body' }, repository: 'https://code.example/bare' }) },
      old: { 'package.json': manifest({ name: 'old', license: undefined, licenses: [{ type: 'MIT' }, { type: 'ISC' }] }) },
      none: { 'package.json': manifest({ name: 'none', license: undefined }) }
    }
  })
  t.match(await noticesOf(meta(['node_modules/bare/a.js', 1]), root), /Licensed under MIT by A\. Body \(https:\/\/code\.example\/bare\)/)
  t.match(await noticesOf(meta(['node_modules/old/a.js', 1]), root), /old 1\.2\.3 \(MIT OR ISC\)/)
  await t.rejects(noticesOf(meta(['node_modules/none/a.js', 1]), root), /none 1\.2\.3 names no licence/)
})
