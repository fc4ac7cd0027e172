import type { SyncSql } from './steps'

/**
 * What each version of the room's tables adds, from the first: never changed once released, only added to. The search
 * index is SQLite's own (FTS5); another engine brings its own.
 */
export const MIGRATIONS: ReadonlyArray<readonly string[]> = [[
  `CREATE TABLE rooms (
    name TEXT PRIMARY KEY, description TEXT, repo_url TEXT, onboarding_notes TEXT, retention_days INTEGER NOT NULL DEFAULT 0, created_at TEXT NOT NULL,
    event_seq INTEGER NOT NULL DEFAULT 0, message_seq INTEGER NOT NULL DEFAULT 0, task_seq INTEGER NOT NULL DEFAULT 0,
    note_seq INTEGER NOT NULL DEFAULT 0, file_seq INTEGER NOT NULL DEFAULT 0, file_bytes INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID`,
  `CREATE TABLE tokens (
    id INTEGER PRIMARY KEY AUTOINCREMENT, hash TEXT NOT NULL UNIQUE, agent TEXT NOT NULL, role TEXT NOT NULL, home TEXT NOT NULL, rooms TEXT NOT NULL,
    all_rooms INTEGER NOT NULL, created_at TEXT NOT NULL, last_used_at TEXT, expires_at TEXT, revoked_at TEXT)`,
  'CREATE INDEX tokens_by_agent ON tokens (agent)',
  'CREATE TABLE aliases (room TEXT NOT NULL, alias TEXT NOT NULL, agent TEXT NOT NULL, PRIMARY KEY (room, alias)) WITHOUT ROWID',
  `CREATE TABLE messages (
    room TEXT NOT NULL, id INTEGER NOT NULL, at TEXT NOT NULL, author TEXT NOT NULL, author_kind TEXT NOT NULL, body TEXT NOT NULL,
    reply_to INTEGER, "to" TEXT, mentions TEXT, require_ack INTEGER NOT NULL, PRIMARY KEY (room, id)) WITHOUT ROWID`,
  'CREATE INDEX messages_by_time ON messages (room, at)',
  'CREATE TABLE acks (room TEXT NOT NULL, message_id INTEGER NOT NULL, agent TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (room, message_id, agent)) WITHOUT ROWID',
  `CREATE TABLE tasks (
    room TEXT NOT NULL, id INTEGER NOT NULL, title TEXT NOT NULL, body TEXT, status TEXT NOT NULL, owner TEXT, version INTEGER NOT NULL,
    created_by TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, ticket_id TEXT, freed_by TEXT, lease_seconds INTEGER, lease_until TEXT,
    PRIMARY KEY (room, id)) WITHOUT ROWID`,
  'CREATE INDEX tasks_by_status ON tasks (room, status, id)',
  'CREATE INDEX tasks_by_ticket ON tasks (ticket_id) WHERE ticket_id IS NOT NULL',
  'CREATE INDEX tasks_by_freed ON tasks (freed_by) WHERE freed_by IS NOT NULL',
  'CREATE INDEX tasks_by_lease ON tasks (lease_until) WHERE lease_until IS NOT NULL',
  'CREATE TABLE dependencies (room TEXT NOT NULL, task_id INTEGER NOT NULL, depends_on INTEGER NOT NULL, PRIMARY KEY (room, task_id, depends_on)) WITHOUT ROWID',
  'CREATE INDEX dependencies_back ON dependencies (room, depends_on)',
  `CREATE TABLE notes (
    room TEXT NOT NULL, id INTEGER NOT NULL, task_id INTEGER NOT NULL, at TEXT NOT NULL, author TEXT NOT NULL, author_kind TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (room, id)) WITHOUT ROWID`,
  'CREATE INDEX notes_by_task ON notes (room, task_id, id)',
  `CREATE TABLE files (
    room TEXT NOT NULL, id INTEGER NOT NULL, name TEXT NOT NULL, mime TEXT NOT NULL, size INTEGER NOT NULL, sha256 TEXT NOT NULL, author TEXT NOT NULL,
    at TEXT NOT NULL, expires_at TEXT, content BLOB NOT NULL, PRIMARY KEY (room, id))`,
  'CREATE INDEX files_by_expiry ON files (expires_at) WHERE expires_at IS NOT NULL',
  `CREATE TABLE events (
    room TEXT NOT NULL, id INTEGER NOT NULL, at TEXT NOT NULL, actor TEXT NOT NULL, actor_kind TEXT NOT NULL, kind TEXT NOT NULL, message_id INTEGER,
    task_id INTEGER, file_id INTEGER, ticket_id TEXT, body TEXT, concerns TEXT, PRIMARY KEY (room, id)) WITHOUT ROWID`,
  'CREATE INDEX events_by_time ON events (room, at)',
  'CREATE INDEX events_by_task ON events (room, task_id, id) WHERE task_id IS NOT NULL',
  'CREATE TABLE cursors (room TEXT NOT NULL, agent TEXT NOT NULL, through INTEGER NOT NULL, greeted INTEGER NOT NULL, PRIMARY KEY (room, agent)) WITHOUT ROWID',
  'CREATE TABLE deliveries (ticket_id TEXT NOT NULL, rev INTEGER NOT NULL, saved_at TEXT NOT NULL, delivered_at TEXT, read_at TEXT, PRIMARY KEY (ticket_id, rev)) WITHOUT ROWID',
  'CREATE TABLE marks (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID',
  `CREATE TABLE attention (
    room TEXT NOT NULL, agent TEXT NOT NULL, day TEXT NOT NULL, wakeups INTEGER NOT NULL, injections INTEGER NOT NULL,
    PRIMARY KEY (room, agent, day)) WITHOUT ROWID`,
  // Which row of the index is whose text: the index itself finds by words only.
  `CREATE TABLE text_rows (
    row INTEGER PRIMARY KEY AUTOINCREMENT, room TEXT NOT NULL, kind TEXT NOT NULL, id INTEGER NOT NULL)`,
  'CREATE UNIQUE INDEX text_rows_by_id ON text_rows (room, kind, id)',
  "CREATE VIRTUAL TABLE texts USING fts5 (text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2')"
], [
  // How often one agent called another, a day.
  `CREATE TABLE calls (
    room TEXT NOT NULL, day TEXT NOT NULL, caller TEXT NOT NULL, called TEXT NOT NULL, count INTEGER NOT NULL, over INTEGER NOT NULL,
    PRIMARY KEY (room, day, caller, called)) WITHOUT ROWID`
], [
  // Who has left a room keeps a place in its log.
  'ALTER TABLE cursors ADD COLUMN gone INTEGER NOT NULL DEFAULT 0'
], [
  'ALTER TABLE deliveries ADD COLUMN asker TEXT',
  'CREATE INDEX deliveries_unread ON deliveries (asker) WHERE delivered_at IS NOT NULL AND read_at IS NULL'
], [
  // Leases of an agent, wherever: see `elsewhere` in tables.
  'CREATE INDEX tasks_held ON tasks (owner) WHERE lease_until IS NOT NULL'
], [
  // What came of calls that may be sent again.
  'CREATE TABLE done_calls (key TEXT PRIMARY KEY, room TEXT NOT NULL, at TEXT NOT NULL, result TEXT NOT NULL) WITHOUT ROWID',
  'CREATE INDEX done_calls_by_time ON done_calls (at)'
]]

/**
 * Brings the tables to the newest version. Run it in a transaction: all of it or nothing.
 * @throws Error when a newer release has written them.
 */
export function migrate (sql: SyncSql, migrations = MIGRATIONS): void {
  sql.all('CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)', [])
  const [row] = sql.all('SELECT version FROM schema_version', []) as Array<{ version: number }>
  const version = row?.version ?? 0
  if (version > migrations.length) {
    throw new Error(`its tables are of version ${version}, and this release knows ${migrations.length}: run the newer release again`)
  }
  if (version === migrations.length) return
  for (const statement of migrations.slice(version).flat()) sql.all(statement, [])
  sql.all('DELETE FROM schema_version', [])
  sql.all('INSERT INTO schema_version VALUES (?)', [migrations.length])
}
