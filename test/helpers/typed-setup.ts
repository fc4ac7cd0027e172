import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { powershell, windowsProgram } from './shells'

const run = promisify(execFile)

export interface McpEntry { type: string, url: string, headers: Record<string, string> }

/** What `claude mcp add` makes of its words, by way of a shell: the entry that goes into its settings. */
async function entryOf (t: Test, line: string): Promise<McpEntry> {
  const { stdout } = await run('bash', ['-c', `claude () { printf '%s\\0' "$@"; }\n${line}`])
  const [mcp, add, transport, type, name, url, ...headers] = stdout.split('\0').slice(0, -1)
  t.strictSame([mcp, add, transport, name], ['mcp', 'add', '--transport', 'readyroom'])
  const named = headers.flatMap((word, at) => word === '--header' ? [headers[at + 1]!.split(': ') as [string, string]] : [])
  return { type: type!, url: url!, headers: Object.fromEntries(named) }
}

/** An agent that was set up by the texts that the admin page shows, typed as they stand into an empty folder. */
export async function setUpAsTyped (t: Test, page: Page, where: 'lan' | 'remote'): Promise<{ client: Client, sessionStart: () => Promise<string> }> {
  await page.locator(`#text-${where}-hook_settings`).waitFor()
  const text = async (name: string): Promise<string> => await page.locator(`#text-${where}-${name}`).textContent() ?? ''
  const folder = t.testdir()
  writeFileSync(join(folder, '.mcp.json'), await text('mcp_json'))
  await run('bash', ['-ec', await text('hook_fetch')], { cwd: folder })
  mkdirSync(join(folder, '.claude'), { recursive: true })
  writeFileSync(join(folder, '.claude/settings.local.json'), await text('hook_settings'))

  const { mcpServers: { readyroom: entry } } = JSON.parse(readFileSync(join(folder, '.mcp.json'), 'utf8')) as { mcpServers: { readyroom: McpEntry } }
  t.strictSame(await entryOf(t, await text('add')), entry, 'the line and the file say the same')
  const client = new Client({ name: 'claude-code', version: '1.0.0' })
  const transport = new StreamableHTTPClientTransport(new URL(entry.url), { requestInit: { headers: entry.headers } })
  await client.connect(transport as Parameters<Client['connect']>[0])
  t.teardown(() => client.close())

  // The lines of the shells of Windows, word by word as those read them, put the same file into the same place.
  for (const [shell, wordsOf] of [['PowerShell', powershell], ['cmd', windowsProgram]] as const) {
    await page.getByRole('radio', { name: shell }).check()
    const other = mkdtempSync(join(folder, 'other-'))
    for (const line of (await text('hook_fetch')).split('\n')) {
      const [program, ...words] = wordsOf(line)
      await run(program!.replace(/\.exe$/, ''), words, { cwd: other })
    }
    t.equal(readFileSync(join(other, '.claude/readyroom-hook.mjs'), 'utf8'), readFileSync(join(folder, '.claude/readyroom-hook.mjs'), 'utf8'), shell)
  }

  const { env, hooks } = JSON.parse(readFileSync(join(folder, '.claude/settings.local.json'), 'utf8')) as
    { env: Record<string, string>, hooks: { SessionStart: Array<{ hooks: Array<{ command: string, args: string[] }> }> } }
  return {
    client,
    /** What the hook puts before the agent when its session begins. */
    async sessionStart () {
      const { command, args } = hooks.SessionStart[0]!.hooks[0]!
      const surroundings = { ...env, PATH: process.env['PATH'], HOME: folder, XDG_STATE_HOME: join(folder, 'state') }
      const hook = run(command, args.map(word => word.replace(/^\$\{CLAUDE_PROJECT_DIR\}/, folder)), { cwd: folder, env: surroundings })
      hook.child.stdin!.end(JSON.stringify({ hook_event_name: 'SessionStart', session_id: 's', cwd: folder, source: 'startup', transcript_path: '/dev/null' }))
      return (await hook).stdout
    }
  }
}
