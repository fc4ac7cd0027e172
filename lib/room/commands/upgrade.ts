import { append, type Command } from '../call'
import { all, first, run } from '../steps'
import { db } from '../tables'

const MARK = 'server_version'

export interface NewVersion { version: string, announce: boolean, before?: string }

/**
 * Tells every room that another version runs now: once for each change, never at the first start, which has nobody to
 * tell. Not `announce`d, the change is noted all the same, so that it is not news later. `before` is what ran until now,
 * where somebody else keeps it: a room with tables of its own may be younger than the last change.
 */
export const noteVersion: Command<NewVersion, { changed: boolean }> = function * (call, { version, announce, before }) {
  const mark = yield * first(db.selectFrom('marks').select('value').where('name', '=', MARK))
  if (mark?.value === version) return { changed: false }
  yield * run(db.insertInto('marks').values({ name: MARK, value: version }).onConflict(conflict => conflict.column('name').doUpdateSet({ value: version })))
  const was = before ?? mark?.value
  if (was === undefined || !announce) return { changed: was !== undefined }
  const body = `Ready Room is version ${version} now; it was ${was}.`
  for (const { name } of yield * all(db.selectFrom('rooms').select('name'))) yield * append({ ...call, room: name }, { kind: 'server_upgraded', body })
  return { changed: true }
}
