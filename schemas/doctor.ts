import Type, { type Static } from 'typebox'

/** What `readyroom doctor` found of one thing. `warn` works today and may not tomorrow; `fail` does not work. */
export const CheckSchema = Type.Object({
  id: Type.String({ pattern: '^[a-z]+(?:-[a-z]+)*$', description: 'Stable: the same thing has the same name in every version' }),
  status: Type.Unsafe<'ok' | 'warn' | 'fail'>({ type: 'string', enum: ['ok', 'warn', 'fail'] }),
  message: Type.String({ minLength: 1 }),
  fix: Type.Optional(Type.String({ minLength: 1, description: 'A command, or what else mends it' }))
}, { additionalProperties: false })

/** `readyroom doctor --json`. `ok`: nothing fails. */
export const DoctorReportSchema = Type.Object({
  ok: Type.Boolean(),
  checks: Type.Array(CheckSchema)
}, { additionalProperties: false })

export type Check = Static<typeof CheckSchema>
export type DoctorReport = Static<typeof DoctorReportSchema>
