import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import type { AuditEntry } from '../../../schemas/event'
import { LOG_FILE } from '../audit-log'
import { type AuditReport, readAudit, verifyAudit } from '../audit-verify'
import { errorCode, explainDiskError } from '../disk-error'
import { type Output, plain, table } from '../output'
import { RefusedError } from '../refused'

export interface AuditOptions {
  stateDir: string
  json: boolean
  verify: boolean
  /** A hash that was noted elsewhere. */
  head?: string | undefined
  /** ISO 8601: entries before it are left out. */
  since?: string | undefined
  out: Output
  /** For what is not part of the output. */
  note: (message: string) => void
}

/** How much is written at a time, in characters. */
const CHUNK = 65_536

/**
 * Reads or checks the audit log. It takes no lock and needs no daemon: the file says it all, while one writes to it too.
 * Exit code 1 where the log does not hold, or there is none to check.
 * @throws RefusedError where there may be one, and it cannot be read
 */
export async function audit (options: AuditOptions): Promise<number> {
  const path = join(options.stateDir, LOG_FILE)
  if (!isThere(path)) {
    const missing = `There is no audit log at ${path}. It begins with the first ticket; READYROOM_STATE_DIR names another folder.`
    if (options.verify && options.json) await options.out.write(`${JSON.stringify({ path, ok: false, missing: true })}\n`)
    else options.note(missing)
    return options.verify ? 1 : 0
  }
  return options.verify ? check(options) : list(options)
}

// What this user may not look into is not what is missing.
function isThere (path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch (err) {
    if (errorCode(err) === 'ENOENT') return false
    const { what } = explainDiskError(err)
    throw new RefusedError(`The audit log ${path} cannot be read: ${what}. Run this as the user whose queue it is; READYROOM_STATE_DIR names another folder.`, { cause: err })
  }
}

async function check ({ stateDir, json, head, out }: AuditOptions): Promise<number> {
  const report = await verifyAudit(stateDir, head === undefined ? {} : { head })
  await out.write(json ? `${JSON.stringify(report)}\n` : readable(report))
  return report.ok ? 0 : 1
}

function readable ({ path, ok, entries, head, fault, unfinished, noted }: AuditReport): string {
  return `The audit log ${ok ? 'holds' : 'does not hold'}.\n\n` + table([
    ['file', path],
    ['entries', fault === undefined ? `${entries}, each in its place in the chain` : `${entries} hold, from the first on`],
    fault && ['fault', `line ${fault.line} ${fault.reason}`],
    ['head', head.seq === 0 ? 'none yet' : `${head.hash}  (seq ${head.seq}, ${head.at})`],
    noted && ['noted', noted.seq === undefined
      ? `${noted.hash} is not in it: the log was cut or rewritten since, or it is another log`
      : `${noted.hash} is entry ${noted.seq}`],
    unfinished === undefined
      ? undefined
      : ['unfinished', `${unfinished} bytes behind the last entry: a write under way, or one that was interrupted`]
  ])
}

async function list ({ stateDir, json, since, out, note }: AuditOptions): Promise<number> {
  let text = ''
  try {
    for await (const entry of readAudit(stateDir, since === undefined ? {} : { since })) {
      text += json ? `${JSON.stringify(entry)}\n` : `${line(entry)}\n`
      if (text.length < CHUNK) continue
      if (!await out.write(text)) return 0
      text = ''
    }
  } catch (err) {
    await out.write(text)
    note((err as Error).message)
    return 1
  }
  await out.write(text)
  return 0
}

/** One entry, to be read: when, what, which agent, and the words that matter for it. */
function line ({ seq, at, event, stream, actor, ticket }: AuditEntry): string {
  const question = JSON.stringify(plain(ticket.question, 80))
  const told = event === 'answered' || event === 'expired'
    ? ticket.answer === undefined ? ' -> no answer' : ` -> ${JSON.stringify(plain(ticket.answer, 80))} (${ticket.answered_by === 'default' ? 'default' : plain(actor, 40)})`
    : ''
  return `${String(seq).padStart(6)}  ${at}  ${event.padEnd(9)}  ${plain(stream, 40)}  ${question}${told}`
}
