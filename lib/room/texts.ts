import { sql } from 'kysely'
import { first, run, type Steps } from './steps'
import { db } from './tables'

// The search index is the engine's own; this is SQLite's (FTS5). It keeps no text, only words, and is written in the
// transaction of what it finds.

export type TextKind = 'message' | 'task' | 'note' | 'file'

/** Lets a text be found, in the place of what stood there for the same thing before. */
export function * indexText (room: string, kind: TextKind, id: number, text: string): Steps<void> {
  yield * forgetText(room, kind, id)
  const row = yield * first(db.insertInto('text_rows').values({ room, kind, id }).returning('row'))
  yield sql`INSERT INTO texts (rowid, text) VALUES (${row!.row}, ${text})`.compile(db)
}

export function * forgetText (room: string, kind: TextKind, id: number): Steps<void> {
  const at = db.selectFrom('text_rows').select('row').where('room', '=', room).where('kind', '=', kind).where('id', '=', id)
  const found = yield * first(at)
  if (found === undefined) return
  yield sql`DELETE FROM texts WHERE rowid = ${found.row}`.compile(db)
  yield * run(db.deleteFrom('text_rows').where('row', '=', found.row))
}
