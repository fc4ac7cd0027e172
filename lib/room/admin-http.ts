import { ADMIN, type AdminName } from '../../schemas/admin'

/** What is done from afar. A copy goes into a file of the machine, which is for whoever sits there. */
export const FROM_AFAR = (Object.keys(ADMIN) as AdminName[]).filter(name => name !== 'backup')

const READS: ReadonlySet<AdminName> = new Set(['list'])

/** What the log is told of a change: names and numbers, never a token, which is in no input. Undefined where nothing changes. */
export function changeNote (
  name: AdminName, input: unknown, by: { actor: string, address: string }
): { fields: object, message: string } | undefined {
  if (READS.has(name)) return undefined
  const { role, all_rooms: everywhere } = input as { role?: string, all_rooms?: boolean }
  const mintsServerAdmin = name === 'add-token' && role === 'admin' && everywhere === true
  return {
    fields: { admin: name, ...by, input, ...(mintsServerAdmin && { grants: 'server:admin' }) },
    message: mintsServerAdmin ? 'A token that administers the whole server was minted over HTTP' : 'Administered over HTTP'
  }
}
