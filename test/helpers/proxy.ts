import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { boxesIn } from './docs'
import { eventually, freePort, Running } from './process'

export interface ProxyOptions { upstream: number, token: string }

export interface Proxy { origin: string, process: Running }

export type StartProxy = (t: Test, options: ProxyOptions) => Promise<Proxy>

const PAGE = 'docs/operations.md'

export function isThere (command: string, ...args: string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' })
    return true
  } catch { return false }
}

function folderOf (t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'readyroom-proxy-'))
  // nginx drops its rights, and its temporary folders are in here.
  chmodSync(folder, 0o755)
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function started (t: Test, port: number, command: string, args: string[], env: Record<string, string>): Promise<Proxy> {
  const process = new Running(spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] }))
  t.teardown(async () => {
    if (!process.over) process.kill('SIGTERM')
    await process.finished
  })
  const origin = `http://127.0.0.1:${port}`
  await eventually(async () => {
    if (process.over) throw new Error(`${command} ended:\n${process.stderr}`)
    return await fetch(origin).then(() => true, () => undefined)
  }, `${command} to listen`)
  return { origin, process }
}

/** nginx with the n-th box of the page inside a `server`, and the rest as Debian has it, but in a folder of its own. */
export const nginx = (box: number): StartProxy => async (t, { upstream, token }) => {
  const folder = folderOf(t)
  const port = await freePort()
  mkdirSync(join(folder, 'tmp'))
  // The person `lea`, with the password `secret`.
  writeFileSync(join(folder, 'readyroom.htpasswd'), 'lea:{PLAIN}secret\n')
  const locations = boxesIn(PAGE, 'nginx')[box]!
    .replaceAll('127.0.0.1:8971', `127.0.0.1:${upstream}`)
    .replaceAll('Bearer TOKEN', `Bearer ${token}`)
    .replaceAll('/etc/nginx/', `${folder}/`)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `  ${name}_temp_path ${folder}/tmp/${name};`).join('\n')
  writeFileSync(join(folder, 'nginx.conf'), `
daemon off;
pid ${folder}/nginx.pid;
error_log stderr warn;
worker_processes 1;
events {}
http {
  access_log off;
  gzip on;
${temporary}
  server {
    listen 127.0.0.1:${port};
    ${locations}
  }
}
`)
  return started(t, port, 'nginx', ['-c', join(folder, 'nginx.conf'), '-p', folder, '-e', 'stderr'], { PATH: process.env['PATH'] ?? '' })
}

export const caddy: StartProxy = async (t, { upstream }) => {
  const folder = folderOf(t)
  const port = await freePort()
  const site = boxesIn(PAGE, 'caddyfile')[0]!
    .replace('desk.example', `http://127.0.0.1:${port}`)
    .replaceAll('127.0.0.1:8971', `127.0.0.1:${upstream}`)
  writeFileSync(join(folder, 'Caddyfile'), `{\n\tadmin off\n\tauto_https off\n\tgrace_period 100ms\n}\n${site}`)
  return started(t, port, 'caddy', ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'], {
    PATH: process.env['PATH'] ?? '', HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder
  })
}
