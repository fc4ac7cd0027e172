import { homedir } from 'node:os'
import { hook } from './hook'

/** The whole process ends within two seconds, its start included: an agent waits for it. */
const WHOLE_MS = 1_800
/** What is left to end in. */
const MARGIN_MS = 150
const SELFCHECK_MS = 5_000

/** Runs the hook on this process; the exit code. `self` is the file that runs. */
export async function main (argv: readonly string[], self?: string): Promise<number> {
  const { env, platform, stdin, stdout, stderr } = process
  const isCheck = argv.includes('--selfcheck')
  // Time since the process began. Whatever holds it up, a server or a pipe that nobody ends, it is over then.
  const leftMs = WHOLE_MS - performance.now()
  if (!isCheck) setTimeout(() => { process.exit(0) }, Math.max(0, leftMs))
  stdout.on('error', () => {})
  stderr.on('error', () => {})
  stdin.on('error', () => {})
  if (stdin.isTTY && argv.length === 0) {
    stderr.write('readyroom hook: a client starts this with JSON on its standard input; --selfcheck says whether it is set up.\n')
    return 0
  }
  return hook({
    argv,
    env,
    platform,
    home: homeOf(),
    input: stdin,
    out: text => new Promise((resolve, reject) => { stdout.write(text, err => { if (err) reject(err); else resolve() }) }),
    note: message => { stderr.write(`${message}\n`) },
    now: Date.now,
    budgetMs: isCheck ? SELFCHECK_MS : Math.max(1, leftMs - MARGIN_MS),
    self
  }).catch(() => isCheck ? 1 : 0)
}

function homeOf (): string {
  try { return homedir() } catch { return '' }
}
