import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, sql, type Generated } from 'kysely'
import type { ActorKind, RoomEventKind, TaskStatus } from '../../schemas/room'

// Times are ISO 8601 in UTC with milliseconds: the same text sorts, compares and is shown. Lists are JSON texts.

export interface RoomsTable {
  name: string
  description: string | null
  repo_url: string | null
  onboarding_notes: string | null
  retention_days: Generated<number>
  created_at: string
  /** The last id given out, of each kind. Ids are never given twice, pruned or not. */
  event_seq: Generated<number>
  message_seq: Generated<number>
  task_seq: Generated<number>
  note_seq: Generated<number>
  file_seq: Generated<number>
  /** Bytes of the files that are there. */
  file_bytes: Generated<number>
}

export interface TokensTable {
  id: Generated<number>
  /** SHA-256 of the token, hex. The token itself is nowhere. */
  hash: string
  agent: string
  role: 'agent' | 'observer' | 'approver' | 'admin'
  home: string
  /** Further rooms, JSON. */
  rooms: string
  all_rooms: number
  created_at: string
  last_used_at: string | null
  expires_at: string | null
  revoked_at: string | null
}

export interface AliasesTable { room: string, alias: string, agent: string }

export interface MessagesTable {
  room: string
  id: number
  at: string
  author: string
  author_kind: ActorKind
  body: string
  reply_to: number | null
  /** JSON. */
  to: string | null
  /** JSON. */
  mentions: string | null
  require_ack: number
}

export interface AcksTable { room: string, message_id: number, agent: string, at: string }

export interface TasksTable {
  room: string
  id: number
  title: string
  body: string | null
  status: TaskStatus
  owner: string | null
  version: number
  created_by: string
  created_at: string
  updated_at: string
  ticket_id: string | null
  freed_by: string | null
  /** Length of the lease that was asked for, in seconds. */
  lease_seconds: number | null
  /** While it runs. A task that waits for a ticket has none: its lease stands still. */
  lease_until: string | null
}

export interface DependenciesTable { room: string, task_id: number, depends_on: number }
export interface NotesTable { room: string, id: number, task_id: number, at: string, author: string, author_kind: ActorKind, body: string }

export interface FilesTable {
  room: string
  id: number
  name: string
  mime: string
  size: number
  sha256: string
  author: string
  at: string
  expires_at: string | null
  content: Uint8Array
}

export interface EventsTable {
  room: string
  id: number
  at: string
  actor: string
  actor_kind: ActorKind
  kind: RoomEventKind
  message_id: number | null
  task_id: number | null
  file_id: number | null
  ticket_id: string | null
  body: string | null
  /** Names that it is meant for, JSON: mentions, addressees, the asker of a ticket. */
  concerns: string | null
}

export interface CursorsTable { room: string, agent: string, through: number, greeted: number, gone: Generated<number> }

/** What became of each revision of a ticket on its way to the agent that asked. */
export interface DeliveriesTable {
  ticket_id: string
  rev: number
  saved_at: string
  delivered_at: string | null
  read_at: string | null
  asker: string | null
}

/** Single values by name: how far the audit log has been applied, which version was announced. */
export interface MarksTable { name: string, value: string }

/** What it cost an agent to be told of things, a day. */
export interface AttentionTable { room: string, agent: string, day: string, wakeups: number, injections: number }

/** How often one agent called another, a day, and how many of those were over the budget and woke nobody. */
export interface CallsTable { room: string, day: string, caller: string, called: string, count: number, over: number }

/** What came of calls that may be sent again, by a digest of who made them and how. */
export interface DoneCallsTable { key: string, room: string, at: string, result: string }

/** Which row of the search index is whose text. */
export interface TextRowsTable { row: Generated<number>, room: string, kind: 'message' | 'task' | 'note' | 'file', id: number }

export interface Tables {
  rooms: RoomsTable
  tokens: TokensTable
  aliases: AliasesTable
  messages: MessagesTable
  acks: AcksTable
  tasks: TasksTable
  dependencies: DependenciesTable
  notes: NotesTable
  files: FilesTable
  events: EventsTable
  cursors: CursorsTable
  deliveries: DeliveriesTable
  marks: MarksTable
  attention: AttentionTable
  calls: CallsTable
  done_calls: DoneCallsTable
  text_rows: TextRowsTable
}

/** Writes queries and runs none: see steps. */
export const db = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: db => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler()
  }
})

/**
 * The room of a task, for a query that another column narrows better: SQLite would take the key, which begins with the room,
 * and read every task of it. As an expression the room is no key to it.
 */
export const taskRoom = sql<string>`coalesce(tasks.room, '')`
