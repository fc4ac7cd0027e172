import { isTokenShaped } from '../../room/token-book'
import { isFields } from './merge'

type Fields = Record<string, unknown>

const VARIABLES = ['READYROOM_TOKEN', 'READYROOM_AGENT_TOKEN']
/** What clients call the variables and the headers of an entry. */
const ENV = ['env', 'environment']
const HEADERS = ['headers', 'http_headers']

const isAuthorization = (name: string): boolean => name.toLowerCase() === 'authorization'

/** The minted token that an entry holds: as a variable, or in a header. Undefined where there is none, or a reference to one. */
export function agentTokenIn (entry: Fields | undefined): string | undefined {
  const values = [
    ...ENV.map(name => group(entry, name)['READYROOM_AGENT_TOKEN']),
    ...HEADERS.flatMap(name => Object.entries(group(entry, name)).filter(([header]) => isAuthorization(header)).map(([, value]) => value))
  ]
  return values.flatMap(value => typeof value === 'string' ? [value.replace(/^Bearer\s+/i, '').trim()] : []).find(isTokenShaped)
}

/** Whether an entry leaves the token of its agent to the client's environment. */
export function refersToAgentToken (entry: Fields | undefined): boolean {
  return agentTokenIn(entry) === undefined && JSON.stringify(entry ?? {}).includes('READYROOM_AGENT_TOKEN')
}

/** An entry without any credential, whoever's it was and whichever way it was said. What else the person has put there stays. */
export function withoutTokens (entry: Fields): Fields {
  const left: Fields = { ...entry }
  for (const name of ENV) replace(left, name, fields => filtered(fields, key => !VARIABLES.includes(key)))
  for (const name of HEADERS) replace(left, name, fields => filtered(fields, key => !isAuthorization(key)))
  if (Array.isArray(left['env_vars'])) {
    const passed = left['env_vars'].filter(one => !VARIABLES.includes(one as string))
    if (passed.length === 0) delete left['env_vars']
    else left['env_vars'] = passed
  }
  if (VARIABLES.includes(left['bearer_token_env_var'] as string)) delete left['bearer_token_env_var']
  return left
}

function replace (entry: Fields, name: string, change: (fields: Fields) => Fields): void {
  const fields = entry[name]
  if (isFields(fields)) entry[name] = change(fields)
}

const filtered = (fields: Fields, keep: (key: string) => boolean): Fields => Object.fromEntries(Object.entries(fields).filter(([key]) => keep(key)))

function group (entry: Fields | undefined, name: string): Fields {
  const fields = entry?.[name]
  return isFields(fields) ? fields : {}
}
