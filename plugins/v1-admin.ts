import type { FastifyInstance } from 'fastify'
import { unauthorized } from '../lib/credential'
import { httpRefusal } from '../lib/http-refusals'
import type { Identity } from '../lib/identity'
import type { RoomAdmin } from '../lib/room/admin'
import { changeNote, FROM_AFAR } from '../lib/room/admin-http'
import { ADMIN } from '../schemas/admin'
import { NoQuerySchema } from '../schemas/api'
import { REFUSALS } from './errors'

export interface V1AdminOptions {
  identity: Identity
  admin: RoomAdmin
  /** READYROOM_ADMIN_API. Off, nothing of it is there. */
  isOn: boolean
}

/** @throws NOT_FOUND where it is off, UNAUTHORIZED where nobody had to show who they are */
export function checkAdministers (isOn: boolean, identity: Identity): void {
  if (!isOn) throw httpRefusal('notFound')
  if (identity.isOpen) {
    throw unauthorized('This needs a token, even where the rest is open: set READYROOM_TOKEN, or use `readyroom admin` on the machine itself.')
  }
}

/**
 * Identity and rooms, administered over HTTP: each by its name. Off unless it was switched on, and never open to whoever
 * merely reaches the port: a loopback without tokens is no proof that a person means it.
 */
export default async function v1Admin (app: FastifyInstance, { admin, identity, isOn }: V1AdminOptions): Promise<void> {
  for (const name of FROM_AFAR) {
    const { input, output } = ADMIN[name]
    app.post(`/admin/${name}`, {
      // Where it is off there is nothing to be forbidden.
      config: isOn ? { scope: 'server:admin' } : {},
      schema: { body: input, querystring: NoQuerySchema, response: { 200: output, ...REFUSALS } },
      onRequest: async () => checkAdministers(isOn, identity)
    }, async request => {
      const result = await admin.run(name, request.body)
      const note = changeNote(name, request.body, { actor: request.principal!.name, address: request.ip })
      if (note !== undefined) app.log.warn(note.fields, note.message)
      return result
    })
  }
}
