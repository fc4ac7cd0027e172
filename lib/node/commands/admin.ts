import { resolve } from 'node:path'
import type { AdminOutput } from '../../../schemas/admin'
import type { AdminCall } from '../admin-line'
import type { RunAdmin } from '../administer'
import { ConfigError } from '../config'
import { plain, table, type Output } from '../output'

export interface AdminOptions {
  call: AdminCall
  json: boolean
  /** Where a relative file begins. */
  cwd: string
  out: Output
  /** Sentences for people, on standard error: standard output holds what was asked for and nothing else. */
  note: (message: string) => void
  administer: <T>(use: (run: RunAdmin) => Promise<T>) => Promise<T>
  /** Asks on a terminal; undefined where there is none to ask on. */
  ask?: ((question: string) => Promise<string>) | undefined
}

/** Does one thing behind `readyroom admin`, and says what came of it. A token is shown here, once, and nowhere else. */
export async function admin (options: AdminOptions): Promise<number> {
  const { call, cwd, out, administer } = options
  if (call.name === 'export') {
    await administer(async run => {
      let after: string | undefined
      do {
        const { text, next } = await run('export', { ...call.input, ...(after !== undefined && { after }) })
        if (text !== '' && !await out.write(text)) return
        after = next
      } while (after !== undefined)
    })
    return 0
  }
  const input = call.name === 'backup' ? { file: resolve(cwd, call.input.file) } : call.name === 'delete-room' ? await confirmed(call.input, options) : call.input
  // The name says what the input is, which the compiler cannot follow through a union of them.
  const result = await administer(run => run(call.name, input as never))
  await say({ ...options, name: call.name, result } as Said)
  return 0
}

async function confirmed (input: { room: string, confirm: string }, { ask }: AdminOptions): Promise<{ room: string, confirm: string }> {
  if (input.confirm !== '') return input
  if (ask === undefined) throw new ConfigError(`Deleting a room cannot be undone: say its name once more, with --confirm ${input.room}. readyroom help admin shows what there is.`, 2)
  return { ...input, confirm: await ask(`Deleting the room ${plain(input.room)} and all that is in it cannot be undone. Type its name to go on: `) }
}

type Said = Pick<AdminOptions, 'json' | 'out' | 'note'> & { [N in AdminCall['name']]: { name: N, result: AdminOutput<N> } }[AdminCall['name']]

async function say ({ json, out, note, ...said }: Said): Promise<void> {
  if (json) {
    const { name, result } = said
    await out.write(`${JSON.stringify(name === 'add-token' ? { token: result.token, ...result.view } : result)}\n`)
    return
  }
  switch (said.name) {
    case 'init': {
      const { since, room } = said.result
      await out.write(`Since ${since} nobody is let in here without a credential, on this machine either. The first room is ${room}.\n`)
      return note(initialised(room))
    }
    case 'add-token': {
      const { token, view } = said.result
      await out.write(`${token}\n`)
      return note(`This is the token of ${view.agent} (${view.role}, number ${view.id}), home room ${view.home}. It is shown this once; keep it where only ${view.agent} reads it. ` +
        (view.role === 'approver' ? 'A person enters it on the heads-up page.' : 'An MCP client takes it as READYROOM_AGENT_TOKEN, and `readyroom setup CLIENT --write` makes one and puts it there by itself.'))
    }
    case 'list':
      await out.write(listed(said.result))
      return
    case 'revoke':
      await out.write(`Revoked: ${said.result.revoked.map(id => `number ${id}`).join(', ')}. Whatever their holders had open has ended.\n`)
      return
    case 'purge':
      await out.write(`Forgotten: ${said.result.purged} revoked token${said.result.purged === 1 ? '' : 's'}.\n`)
      return
    case 'add-room':
      await out.write(`The room ${said.result.room} is there.\n`)
      return
    case 'retention': {
      const { room, retention_days: days } = said.result
      await out.write(days === 0 ? `The room ${room} keeps everything.\n` : `The room ${room} keeps chat, events and files for ${days} day${days === 1 ? '' : 's'}.\n`)
      return
    }
    case 'delete-room':
      await out.write(`The room ${said.result.room} and all that was in it are gone.\n`)
      return
    case 'alias':
      await out.write('The room knows it.\n')
      return
    case 'backup':
      await out.write(`${said.result.file}\n`)
      return note('This is a whole copy of the rooms, the digests of the tokens too. Tickets are in the audit log: `readyroom audit --json` copies that.')
  }
}

const initialised = (room: string): string => `From now on:
  You get in with READYROOM_TOKEN, where you start Ready Room with one, or with a token of your own:
    readyroom admin add-token --agent YOUR-NAME --room ${room} --approver
  An agent without a token is told that it needs one. \`readyroom setup CLIENT --write\` makes one and writes it into the
  client's settings; \`readyroom admin add-token --agent NAME --room ${room}\` makes one for anything else.`

function listed ({ initialised, rooms, tokens, revoked_hidden: hidden }: AdminOutput<'list'>): string {
  const head = initialised ? '' : 'Nobody needs a credential here: `readyroom admin init` was never run.\n'
  const inRooms = rooms.length === 0
    ? 'No rooms.\n'
    : table(rooms.map(({ room, retention_days: days, description }) =>
      [room, `${days === 0 ? 'keeps everything' : `keeps ${days} days`}${description === undefined ? '' : `; ${plain(description)}`}`]))
  const rows = tokens.map((token): [string, string] => [`${token.id} ${token.agent}`, [
    token.role,
    token.all_rooms ? `every room, home ${token.home}` : [token.home, ...token.rooms].join(', '),
    `since ${token.created_at}`,
    token.last_used_at === undefined ? 'never used' : `last used ${token.last_used_at}`,
    token.expires_at === undefined ? '' : `until ${token.expires_at}`,
    token.revoked_at === undefined ? '' : `revoked ${token.revoked_at}`
  ].filter(text => text !== '').join('; ')])
  const inTokens = rows.length === 0 ? 'No tokens.\n' : table(rows)
  return `${head}Rooms:\n${inRooms}\nTokens:\n${inTokens}${hidden === undefined ? '' : `${hidden} revoked, shown with --revoked.\n`}`
}
