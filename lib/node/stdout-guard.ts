import { Console } from 'node:console'

/**
 * Imported before everything else by the entry point: standard output carries MCP or what was asked for, and one stray
 * line of a dependency there ends an agent's session. So whatever says `console` speaks on standard error.
 */
globalThis.console = new Console({ stdout: process.stderr, stderr: process.stderr })
