import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { promisify } from 'node:util'

export const ROOT = resolve(import.meta.dirname, '../..')

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }

/** The published package, as `npm pack --pack-destination reports` makes it. */
const TARBALL = join(ROOT, `reports/readyroom-${version}.tgz`)

/** How long one command may take, in milliseconds: a loaded machine builds slowly. */
const PATIENCE_MS = 240_000

export interface Output { code: number, stdout: string, stderr: string }

/** Runs a command to its end, whatever comes of it, with nothing in its environment that the test runner has put there. */
export async function command (file: string, args: string[], options: { cwd?: string, env?: Record<string, string> } = {}): Promise<Output> {
  const { cwd = ROOT, env = {} } = options
  const clean = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env }
  try {
    const { stdout, stderr } = await promisify(execFile)(file, args, { cwd, env: clean, timeout: PATIENCE_MS, maxBuffer: 64 * 1_024 * 1_024 })
    return { code: 0, stdout, stderr }
  } catch (err) {
    const { code, stdout = '', stderr = '' } = err as { code?: unknown, stdout?: string, stderr?: string }
    return { code: typeof code === 'number' ? code : 1, stdout, stderr: stderr || String(err) }
  }
}

/** The tarball. The suite has packed it before; a test that is run by itself packs where there is none. */
export async function tarball (): Promise<string> {
  if (!existsSync(TARBALL)) {
    mkdirSync(join(ROOT, 'reports'), { recursive: true })
    const { code, stderr } = await command('npm', ['pack', '--pack-destination', join(ROOT, 'reports')])
    if (code !== 0) throw new Error(`npm pack: ${stderr}`)
  }
  return TARBALL
}

/** An empty folder, outside of this repository: nothing above it has packages that an import could find by accident. */
export function emptyFolder (t: { teardown (remove: () => void): void }): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'readyroom-package-')))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Installs the package into a folder from the tarball alone: offline, from a cache that holds nothing. */
export async function install (folder: string): Promise<Output> {
  // Without a prefix npm looks for a project above, and takes one that somebody has left in the folder of temporary files.
  return command('npm', ['install', '--prefix', folder, '--offline', '--no-audit', '--no-fund', '--cache', join(folder, '.empty-cache'), await tarball()], { cwd: folder })
}

/** Puts packages that the host has beside it, as if they had been installed. */
export function provide (folder: string, ...names: string[]): void {
  for (const name of names) {
    const place = join(folder, 'node_modules', name)
    mkdirSync(resolve(place, '..'), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules', name), place, 'dir')
  }
}

/** The Node that runs this, and each further one that READYROOM_TEST_NODES names, as paths with the system's delimiter. */
export const NODES: string[] = [process.execPath, ...(process.env['READYROOM_TEST_NODES'] ?? '').split(delimiter).filter(path => path !== '')]
