import { spawn } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { ROOT } from './room'

interface Check { id: string, status: string }

/**
 * What must be seen to pass, by the name of its folder, with the least number of checks: a suite that tested nothing
 * would not fail either.
 */
const MUST_PASS: Record<string, Record<string, number>> = {
  '2025-11-25': { 'server-initialize': 2, ping: 2, 'tools-list': 3, 'dns-rebinding-protection': 2 },
  '2026-07-28': {
    'server-stateless': 24, 'tools-list': 4, 'http-header-validation': 14, 'dns-rebinding-protection': 2, 'server-sse-multiple-streams': 1, caching: 4
  }
}

/** The revisions that there is a baseline for. */
export const REVISIONS: readonly string[] = Object.keys(MUST_PASS)

async function checksOf (dir: string, scenario: string): Promise<Check[]> {
  const folder = (await readdir(dir)).find(name => name.startsWith(`server-${scenario}-20`))
  return folder === undefined ? [] : JSON.parse(await readFile(join(dir, folder, 'checks.json'), 'utf8'))
}

/** Runs everything that a revision asks of a server; what the baseline does not name must pass. */
export async function conforms (t: Test, url: string, revision: string): Promise<void> {
  const dir = t.testdir()
  const child = spawn(process.execPath, [
    `${ROOT}node_modules/.bin/conformance`, 'server', '--url', url, '--requirements', revision, '-o', dir,
    '--expected-failures', `${ROOT}test/conformance/baseline-${revision}.yml`
  ], { stdio: ['ignore', 'pipe', 'pipe'] })
  const code = new Promise(resolve => child.once('close', resolve))
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  if (await code !== 0) t.comment(out.slice(out.indexOf('=== SUMMARY')), err.slice(-2_000))
  t.equal(await code, 0, 'the suite finds nothing else')

  for (const [scenario, least] of Object.entries(MUST_PASS[revision]!)) {
    const passed = (await checksOf(dir, scenario)).filter(({ status }) => status === 'SUCCESS')
    t.ok(passed.length >= least, `${scenario}: ${passed.length} checks pass, ${least} at least`)
  }
}
