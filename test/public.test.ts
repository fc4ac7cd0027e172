import { readFileSync } from 'node:fs'
import t from 'tap'

const PAGES = ['index', 'ui', 'admin']
const read = (page: string): string => readFileSync(new URL(`../public/${page}.html`, import.meta.url), 'utf8')

/** The blocks of a page that say they are shared, by name. */
function blocksOf (html: string): Map<string, string> {
  const found = html.matchAll(/^(?:\/\/|\/\*) shared: (\w+)(?: \*\/)?\n([^]*?)^(?:\/\/|\/\*) end of \1(?: \*\/)?$/gm)
  return new Map(Array.from(found, ([, name, text]) => [name!, text!]))
}

t.test('what the pages share is the same in each of them, to the letter', async t => {
  const all = new Map(PAGES.map(page => [page, blocksOf(read(page))]))
  for (const [page, blocks] of all) {
    t.equal(blocks.size, read(page).match(/^(?:\/\/|\/\*) shared: /gm)?.length, `every block of ${page} ends`)
    for (const [name, text] of blocks) {
      const others = PAGES.filter(other => other !== page && all.get(other)!.has(name))
      t.not(others.length, 0, `${name} of ${page} is shared with somebody`)
      for (const other of others) t.equal(all.get(other)!.get(name), text, `${name}: ${page} and ${other}`)
    }
  }
  t.ok(['look', 'frame', 'text', 'document'].every(name => PAGES.every(page => all.get(page)!.has(name))))
})

t.test('no page makes markup of a text, or has a way to run one', async t => {
  for (const page of PAGES) {
    t.notMatch(read(page), /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|\beval\b|new Function|srcdoc|javascript:/, page)
    t.notMatch(read(page), /<[^>]*\son\w+=|<[^>]*\sstyle=|<link[^>]+href="(?!data:)|<script[^>]+src=/, page)
  }
  for (const page of ['ui', 'admin']) t.notMatch(read(page), /localStorage|sessionStorage|indexedDB|document\.cookie|location\.hash\s*=|pushState|replaceState/, page)
})
