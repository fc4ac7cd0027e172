import { type Config, pageUrl } from './config'

export interface Scene {
  config: Config
  /** The file that Node was started with. */
  script: string
  /** This process stands by; the page is another's. */
  standsBy: boolean
}

/** What somebody who starts Ready Room on a terminal wants to know: where the page is, and how an agent gets to it. */
export function welcome ({ config, script, standsBy }: Scene): string {
  return [
    '',
    standsBy
      ? `  Ready Room runs already; this process stands by. Its page: ${pageUrl(config)}`
      : `  Ready Room is open: ${pageUrl(config)}`,
    `  Wire a first client: ${wiring(config, script)}`,
    '  Ctrl-C stops it.',
    '',
    ''
  ].join('\n')
}

/** One line that a shell takes. A client started by it finds this queue: what was set here is set there. */
export function wiring (config: Config, script: string): string {
  const settings = [
    config.given.port ? `READYROOM_PORT=${config.port}` : undefined,
    config.given.stateDir ? `READYROOM_STATE_DIR=${config.stateDir}` : undefined
  ].filter(setting => setting !== undefined)
  // Whoever runs a clone has no package to install.
  const command = /[\\/]node_modules[\\/]/.test(script) ? ['npx', '-y', 'readyroom'] : ['node', script]
  return ['claude', 'mcp', 'add', 'readyroom', ...settings.flatMap(setting => ['-e', setting]), '--', ...command].map(quoted).join(' ')
}

/** A word as POSIX shells read it; double quotes where there is nothing in it that they expand, which cmd and PowerShell read too. */
function quoted (word: string): string {
  if (/^[\w@%+=:,./\\-]+$/.test(word) && !(word.includes('\\') && process.platform !== 'win32')) return word
  return /["$`\\!]/.test(word) && process.platform !== 'win32' ? `'${word.replaceAll("'", "'\\''")}'` : `"${word}"`
}
