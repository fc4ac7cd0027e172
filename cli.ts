// First of all: from here on nothing but what belongs there reaches standard output.
import './lib/node/stdout-guard'
import { homedir } from 'node:os'
import { parse, resolve } from 'node:path'
import { readCommandLine, type CommandLine } from './lib/node/command-line'
import type { AdminOptions } from './lib/node/commands/admin'
import { audit } from './lib/node/commands/audit'
import { helpOn } from './lib/node/commands/help'
import type { Administer } from './lib/node/commands/setup-token'
import { status } from './lib/node/commands/status'
import { stop } from './lib/node/commands/stop'
import { checkReach, pageUrl, readConfig, warningsOf } from './lib/node/config'
import { outputTo } from './lib/node/output'
import { isAgentOn } from './lib/node/stdin'
import { VERSION } from './lib/node/version'

// Nobody may read the log any more, which is no reason to end.
process.stderr.on('error', () => {})

const note = (message: string): void => { process.stderr.write(`readyroom: ${message}\n`) }

try {
  // These two read their own words: they are the files that run on an agent's machine too.
  const script = await ownCommand(process.argv.slice(2))
  if (script !== undefined) process.exit(script)
  const line = readCommandLine(process.argv.slice(2))
  const code = await execute(line)
  if (code !== undefined) process.exit(code)
} catch (err) {
  note(messageOf(err))
  process.exit(exitCodeOf(err))
}

/** Runs the hook or the watcher; undefined where neither is asked for. */
async function ownCommand ([word, ...argv]: string[]): Promise<number | undefined> {
  if ((word !== 'hook' && word !== 'watch') || argv.includes('--help') || argv.includes('-h')) return undefined
  const { main } = word === 'hook' ? await import('./client/hook-main') : await import('./client/watch-main')
  return main(argv)
}

/** The exit code, or undefined where the process goes on by itself. */
async function execute (line: CommandLine): Promise<number | undefined> {
  const { command, flags, json, verify, head, since } = line
  const out = outputTo(process.stdout)
  if (line.version) {
    await out.write(`${VERSION}\n`)
    return 0
  }
  switch (command) {
    case 'help':
      await out.write(helpOn(line.topic))
      return 0
    case 'status': {
      const config = readConfig({ flags, cwd: workingFolder() })
      const { askDaemon } = await import('./lib/node/ask-daemon')
      return status({ askDaemon: () => askDaemon(config), json, out })
    }
    case 'stop': {
      const config = readConfig({ flags, cwd: workingFolder() })
      const { askDaemon, stopDaemon } = await import('./lib/node/ask-daemon')
      return stop({ askDaemon: () => askDaemon(config), stopDaemon: () => stopDaemon(config), out })
    }
    case 'setup':
      return setUp(line)
    case 'doctor': {
      const { doctorHere } = await import('./lib/node/commands/doctor-here')
      return doctorHere({ line, cwd: workingFolder(), out, note })
    }
    case 'audit': {
      const { stateDir } = readConfig({ flags, cwd: workingFolder() })
      return audit({ stateDir, json, verify, head, since, out, note })
    }
    case 'admin':
      return administer(line)
    default:
      await open(line)
  }
}

/** Loaded when it is asked for: an agent's process never is, and has no time to lose. */
async function setUp (line: CommandLine): Promise<number> {
  if (line.hook) return setUpHook(line)
  const [{ instructions, setup }, { setupOptions }, { CLIENTS }] = await Promise.all([
    import('./lib/node/commands/setup'), import('./lib/node/commands/setup-options'), import('./lib/node/clients/clients')
  ])
  const out = outputTo(process.stdout)
  if (line.instructions) return instructions({ teaches: line.client === undefined ? 'CLAUDE.md, AGENTS.md or GEMINI.md' : CLIENTS[line.client].teaches, out, note })
  const cwd = workingFolder()
  const config = readConfig({ flags: line.flags, cwd })
  const { platform, execPath, execArgv, argv, env } = process
  const started = { platform, execPath, execArgv, script: resolve(argv[1] ?? '') }
  const { administer, hasRooms } = await import('./lib/node/administer')
  const here: Administer | undefined = line.url === undefined && await hasRooms(config) ? use => administer(config, use) : undefined
  return setup({ ...setupOptions({ line, config, started, place: { platform, env, home: homedir(), cwd }, administer: here }), out, note })
}

async function setUpHook ({ scope = 'user', write, url }: CommandLine): Promise<number> {
  const [{ setupHook }, { invocation, readAddress }] = await Promise.all([import('./lib/node/commands/setup-hook'), import('./lib/node/clients/way')])
  const { platform, execPath, execArgv, argv, env } = process
  const words = ['setup', 'hook', ...scope === 'user' ? [] : ['--scope', scope], ...url === undefined ? [] : ['--url', url], '--write']
  return setupHook({
    scope,
    place: { platform, env, home: homedir(), cwd: workingFolder() },
    write: write === true,
    node: execPath,
    ...(url !== undefined && { from: { url: readAddress(url).base, token: env['READYROOM_AGENT_TOKEN']?.trim() || undefined } }),
    again: [...invocation({ platform, execPath, execArgv, script: resolve(argv[1] ?? '') }), ...words],
    out: outputTo(process.stdout),
    note
  })
}

async function administer ({ flags, json, url, admin: call }: CommandLine): Promise<number> {
  const [{ admin }, { administer }] = await Promise.all([import('./lib/node/commands/admin'), import('./lib/node/administer')])
  const cwd = workingFolder()
  const config = readConfig({ flags, cwd })
  const asks = process.stdin.isTTY && process.stderr.isTTY
  const out = outputTo(process.stdout)
  const afar = url === undefined ? undefined : (await import('./lib/node/administer-from-afar')).administerFromAfar({ url, token: config.token })
  const use: AdminOptions['administer'] = use => afar === undefined ? administer(config, use) : use(afar)
  return admin({ call: call!, json, cwd, out, note, administer: use, ask: asks ? askOnTerminal : undefined })
}

async function askOnTerminal (question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await terminal.question(question)
  } finally {
    terminal.close()
  }
}

async function open ({ command, flags, linger }: CommandLine): Promise<void> {
  const cwd = workingFolder()
  const config = readConfig({ command: command === 'serve' ? 'serve' : 'stdio', linger, flags, cwd })
  const { url } = config
  if (url !== undefined && config.command === 'stdio' && isAgentOn(0)) {
    const [{ createLog }, { runElsewhere }] = await Promise.all([import('./lib/node/log'), import('./lib/node/run-elsewhere')])
    return runElsewhere({ config: { ...config, url }, version: VERSION, log: createLog({ token: config.agentToken ?? config.token }), cwd })
  }
  checkReach(config, flags)
  const [{ createLog }, { run }, { welcome }] = await Promise.all([
    import('./lib/node/log'), import('./lib/node/run'), import('./lib/node/welcome')
  ])
  const log = createLog({ token: config.token })
  for (const warning of warningsOf(config)) log.warn({}, warning)

  await run({
    config,
    version: VERSION,
    log,
    cwd,
    // Loaded when it is needed: most processes are clients, and an agent's first message need not wait for it.
    openDaemon: async context => (await import('./server')).daemonOpener({ version: VERSION, log })(context),
    onOpen ({ page, standsBy, agent }) {
      if (process.stderr.isTTY && !agent) {
        process.stderr.write(welcome({ config: { ...config, ...page }, script: resolve(process.argv[1] ?? ''), standsBy }))
      } else {
        log.info({ page: pageUrl(page) }, standsBy && !agent
          ? 'The heads-up page is open; another process serves it, and this one stands by'
          : 'The heads-up page is open')
      }
    }
  })
}

/** The folder that we were started in; the root where that is gone, since dependencies want to have one too. */
function workingFolder (): string {
  try {
    return process.cwd()
  } catch {
    process.chdir(parse(process.execPath).root)
    return process.cwd()
  }
}

/** What was foreseen says itself what to do; for the rest, where it came from helps whoever is told of it. */
function messageOf (err: unknown): string {
  if (!(err instanceof Error)) return String(err)
  return err.name === 'Error' || err.name.endsWith('TypeError') ? err.stack ?? err.message : err.message
}

function exitCodeOf (err: unknown): number {
  return err instanceof Error && 'exitCode' in err && typeof err.exitCode === 'number' ? err.exitCode : 1
}
