// Copies the audit log of a deployment into a file, as `readyroom audit --verify` reads it; a second run adds what is new.
//   READYROOM_TOKEN=... node scripts/export-audit.mjs https://readyroom.example.workers.dev backup/audit.jsonl
import { appendFile, readFile } from 'node:fs/promises'

const [url, file] = process.argv.slice(2)
const token = process.env.READYROOM_TOKEN
if (url === undefined || file === undefined || !URL.canParse(url) || !token) {
  process.stderr.write('Usage: READYROOM_TOKEN=... node scripts/export-audit.mjs URL FILE\n')
  process.exit(2)
}

/** The last line of the copy so far. @throws where the file ends in half a line */
async function lastEntry () {
  const text = await readFile(file, 'utf8').catch(err => {
    if (err.code === 'ENOENT') return ''
    throw err
  })
  if (text === '') return { seq: 0, hash: '0'.repeat(64) }
  if (!text.endsWith('\n')) throw new Error(`${file} ends in half a line, from a copy that was interrupted: remove that line and run this again.`)
  return JSON.parse(text.trimEnd().split('\n').at(-1))
}

async function page (after) {
  const response = await fetch(new URL(`api/audit?after=${after}&limit=1000`, url.endsWith('/') ? url : `${url}/`), { headers: { authorization: `Bearer ${token}` } })
  const body = await response.json()
  if (!response.ok) throw new Error(`${url} refused: ${response.status} ${body.error}: ${body.message}`)
  return body.entries
}

try {
  let last = await lastEntry()
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
