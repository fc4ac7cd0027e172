// Copies the audit log of a deployment into a file, as `readyroom audit --verify` reads it; a second run adds what is new.
//   READYROOM_TOKEN=... node scripts/export-audit.mjs https://readyroom.example.workers.dev backup/audit.jsonl
// Behind Cloudflare Access: CF_ACCESS_CLIENT_ID and CF_ACCESS_CLIENT_SECRET, the two halves of a service token.
import { appendFile, mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'

const [url, file] = process.argv.slice(2)
const { READYROOM_TOKEN: token, CF_ACCESS_CLIENT_ID: id, CF_ACCESS_CLIENT_SECRET: secret } = process.env
if (url === undefined || file === undefined || !URL.canParse(url) || !token) {
  process.stderr.write('Usage: READYROOM_TOKEN=... node scripts/export-audit.mjs URL FILE\n')
  process.exit(2)
}

/** Longer than any line: the copy itself may be of any length. */
const TAIL_BYTES = 8 * 1_024 * 1_024

/** How the copy ends so far; empty where there is none. */
async function tail () {
  const copy = await open(file).catch(err => {
    if (err.code !== 'ENOENT') throw err
  })
  if (copy === undefined) return ''
  try {
    const { size } = await copy.stat()
    const length = Math.min(size, TAIL_BYTES)
    const { buffer, bytesRead } = await copy.read({ buffer: Buffer.alloc(length), position: size - length })
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await copy.close()
  }
}

/** The last line of the copy so far. @throws where the file ends in half a line */
async function lastEntry () {
  const text = await tail()
  if (text === '') return { seq: 0, hash: '0'.repeat(64) }
  if (!text.endsWith('\n')) throw new Error(`${file} ends in half a line, from a copy that was interrupted: remove that line and run this again.`)
  return JSON.parse(text.trimEnd().split('\n').at(-1))
}

async function page (after) {
  const headers = { authorization: `Bearer ${token}`, ...(id && secret && { 'cf-access-client-id': id, 'cf-access-client-secret': secret }) }
  const response = await fetch(new URL(`api/audit?after=${after}&limit=1000`, url.endsWith('/') ? url : `${url}/`), { headers, redirect: 'manual' })
  const body = await response.json().catch(() => {
    throw new Error(`${url} is answered by something else (${response.status}): a login in front of it, such as Cloudflare Access, wants ` +
      'CF_ACCESS_CLIENT_ID and CF_ACCESS_CLIENT_SECRET of a service token.')
  })
  if (!response.ok) throw new Error(`${url} refused: ${response.status} ${body.error}: ${body.message}`)
  return body.entries
}

try {
  let last = await lastEntry()
  // Whoever reads it reads every question and answer: it is the owner's alone.
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  let count = 0
  for (let entries = await page(last.seq); entries.length > 0; entries = await page(last.seq)) {
    if (entries[0].prev !== last.hash) throw new Error(`Entry ${entries[0].seq} does not follow the last line of ${file}: they are of different queues.`)
    await appendFile(file, entries.map(entry => `${JSON.stringify(entry)}\n`).join(''), { mode: 0o600, flush: true })
    last = entries.at(-1)
    count += entries.length
  }
  process.stdout.write(`${count} new entries; the last is ${last.seq}, with the hash ${last.hash}\n`)
} catch (err) {
  process.stderr.write(`${err.message}\n`)
  process.exitCode = 1
}
