// Says what of other people is in a bundle: name, version, licence and its text, from what esbuild put into it.
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** The innermost folder of a package that a file belongs to, or undefined where it is ours. */
const folderOf = file => /^(.*\bnode_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]

/** @throws Error naming a package whose licence cannot be told */
async function noticeOf (folder) {
  const { name, version, license, licenses, author, repository } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  const spdx = license?.type ?? license ?? licenses?.map(({ type }) => type).join(' OR ')
  if (typeof spdx !== 'string') throw new Error(`${name} ${version} names no licence`)
  const files = (await readdir(folder)).filter(file => /^(licen[cs]e|copying|notice)/i.test(file)).sort()
  const texts = await Promise.all(files.map(async file => (await readFile(join(folder, file), 'utf8')).trim()))
  // A few packages leave the text out; then whose it is must do.
  const by = typeof author === 'string' ? author : author?.name
  const origin = typeof repository === 'string' ? repository : repository?.url
  const text = texts.length > 0 ? texts.join('\n\n') : [`Licensed under ${spdx}`, by && `by ${by}`, origin && `(${origin})`].filter(Boolean).join(' ')
  return { title: `${name} ${version} (${spdx})`, text }
}

/** The notices of every package with bytes in an output of `metafile`. `root` is what its paths are relative to. */
export async function noticesOf (metafile, root) {
  const files = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.entries(inputs))
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([file]) => file)
  const folders = [...new Set(files.map(folderOf).filter(folder => folder !== undefined))]
  const notices = await Promise.all(folders.map(folder => noticeOf(join(root, folder))))
  const unique = [...new Map(notices.map(notice => [notice.title, notice])).values()].sort((a, b) => a.title < b.title ? -1 : 1)
  const rule = '-'.repeat(78)
  return [
    'Ready Room itself is in the public domain (see LICENSE). Its bundle holds these packages, each under the licence of its own:',
    '',
    ...unique.map(({ title }) => `  ${title}`),
    ...unique.flatMap(({ title, text }) => ['', rule, title, '', text])
  ].join('\n') + '\n'
}
