import { append, type Command } from '../call'
import { all, first, run } from '../steps'
import { db } from '../tables'

const MARK = 'server_version'

/**
 * Tells every room that another version runs now: once for each change, never at the first start, which has nobody to
 * tell. Not `announce`d, the change is noted all the same, so that it is not news later.
 */
export const noteVersion: Command<{ version: string, announce: boolean }, { changed: boolean }> = function * (call, { version, announce }) {
  const mark = yield * first(db.selectFrom('marks').select('value').where('name', '=', MARK))
  if (mark?.value === version) return { changed: false }
  yield * run(db.insertInto('marks').values({ name: MARK, value: version }).onConflict(conflict => conflict.column('name').doUpdateSet({ value: version })))
  if (mark === undefined || !announce) return { changed: mark !== undefined }
  const body = `Ready Room is version ${version} now; it was ${mark.value}.`
  for (const { name } of yield * all(db.selectFrom('rooms').select('name'))) yield * append({ ...call, room: name }, { kind: 'server_upgraded', body })
  return { changed: true }
}
