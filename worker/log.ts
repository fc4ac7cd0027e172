import type { McpLog } from '../lib/mcp'
import type { RoutesLog } from './routes'

/** An error as it can be read in a log: its own fields do not survive JSON. */
const plain = (value: unknown): unknown => value instanceof Error
  ? { message: value.message, stack: value.stack, ...(value.cause !== undefined && { cause: plain(value.cause) }) }
  : value

const line = (details: object, message: string): Record<string, unknown> =>
  ({ message, ...Object.fromEntries(Object.entries(details).map(([name, value]) => [name, plain(value)])) })

/** The log of a deployment: one object a line, which `wrangler tail` and Workers Logs show field by field. */
export const LOG: RoutesLog & Required<Pick<McpLog, 'error'>> = {
  error (details, message) { console.error(line(details, message)) },
  warn (details, message) { console.warn(line(details, message)) }
}
