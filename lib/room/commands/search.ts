import { sql } from 'kysely'
import { PAGE_BYTES } from '../../../schemas/room'
import { bytesOf, enter, given, type Call, type Command } from '../call'
import { first, type Steps } from '../steps'
import { db } from '../tables'
import type { TextKind } from '../texts'

const PAGE = 20
const EXCERPT = 240

export interface SearchInput { query: string, kinds?: readonly TextKind[], limit?: number }
export interface Hit { kind: TextKind, id: number, task_id?: number, at: string, author: string, excerpt: string }

/** A word, with what is written above and below its letters: an accent may be a character of its own, and ends no word. */
const WORD = /[\p{L}\p{N}_][\p{L}\p{N}\p{M}_]*/gu

/** The words of a query as the index takes them, each quoted: nothing in it is an operator. */
const wordsOf = (query: string): string => [...query.matchAll(WORD)].map(([word]) => `"${word}"`).join(' ')

/** The part of a text around the first of the words. */
function excerptOf (text: string, query: string): string {
  const [word = ''] = query.match(WORD) ?? []
  const at = Math.max(0, text.toLowerCase().indexOf(word.toLowerCase()))
  const from = Math.max(0, at - EXCERPT / 4)
  const part = text.slice(from, from + EXCERPT)
  return `${from > 0 ? '…' : ''}${part}${from + EXCERPT < text.length ? '…' : ''}`
}

interface Found { at: string, author: string, text: string, task_id?: number }

function * look (call: Call, kind: TextKind, id: number): Steps<Found | undefined> {
  const { room } = call
  switch (kind) {
    case 'message': {
      const row = yield * first(db.selectFrom('messages').select(['at', 'author', 'body']).where('room', '=', room).where('id', '=', id))
      return row && { at: row.at, author: row.author, text: row.body }
    }
    case 'task': {
      const row = yield * first(db.selectFrom('tasks').select(['updated_at', 'created_by', 'title', 'body']).where('room', '=', room).where('id', '=', id))
      return row && { at: row.updated_at, author: row.created_by, text: row.body === null ? row.title : `${row.title}\n${row.body}` }
    }
    case 'note': {
      const row = yield * first(db.selectFrom('notes').select(['at', 'author', 'body', 'task_id']).where('room', '=', room).where('id', '=', id))
      return row && { at: row.at, author: row.author, text: row.body, task_id: row.task_id }
    }
    default: {
      const row = yield * first(db.selectFrom('files').select(['at', 'author', 'name', 'expires_at']).where('room', '=', room).where('id', '=', id))
      if (row === undefined || (row.expires_at !== null && row.expires_at <= new Date(call.now).toISOString())) return undefined
      return { at: row.at, author: row.author, text: row.name }
    }
  }
}

/** What holds all the words of a query, best first. */
export const search: Command<SearchInput, { hits: Hit[], omitted?: number }> = function * (call, { query, kinds = [], limit = PAGE }) {
  yield * enter(call)
  const words = wordsOf(query)
  if (words === '') return { hits: [] }
  const narrowed = kinds.length === 0 ? sql`1 = 1` : sql`text_rows.kind IN (${sql.join([...kinds])})`
  const rows = (yield sql`
    SELECT text_rows.kind AS kind, text_rows.id AS id FROM texts JOIN text_rows ON text_rows.row = texts.rowid
    WHERE texts MATCH ${words} AND text_rows.room = ${call.room} AND ${narrowed} ORDER BY texts.rank LIMIT ${limit}`.compile(db)) as
    Array<{ kind: TextKind, id: number }>
  const hits: Hit[] = []
  let size = 0
  for (const { kind, id } of rows) {
    const found = yield * look(call, kind, id)
    if (found === undefined) continue
    const hit: Hit = { kind, id, ...given('task_id', found.task_id), at: found.at, author: found.author, excerpt: excerptOf(found.text, query) }
    size += bytesOf(JSON.stringify(hit))
    if (size > PAGE_BYTES) return { hits, omitted: rows.length - hits.length }
    hits.push(hit)
  }
  return { hits }
}
