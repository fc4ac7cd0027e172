import Type, { type TSchema } from 'typebox'
import {
  AgentNameSchema, AgentSchema, FileSchema, MessageSchema, NoteSchema, RoomEventKindSchema, RoomEventSchema, RoomIdSchema, RoomInfoSchema,
  RoomNameSchema, TaskAskSchema, TaskSchema, TaskStatusSchema, TaskViewSchema
} from './room'

// What each room tool takes and gives, over MCP and under /v1 alike. Flat objects; every one takes `room`.

const input = <P extends Record<string, TSchema>>(properties: P) =>
  Type.Object({ ...properties, room: Type.Optional(RoomNameSchema) }, { additionalProperties: false })
const output = <P extends Record<string, TSchema>>(properties: P) => Type.Object(properties, { additionalProperties: false })

const Limit = Type.Optional(Type.Integer({ minimum: 1, maximum: 500 }))
const Since = Type.Optional(Type.Integer({ minimum: 0, description: 'Only what has a greater id' }))
const Next = Type.Optional(Type.Integer({ description: 'There is more: pass it as since_id' }))
/** Stands beside whatever agents wrote: it is data, whatever it says. */
const Untrusted = Type.Optional(Type.String({ description: 'How to read the texts in here' }))
const text = (description: string) => Type.String({ minLength: 1, description })

export const PostMessageInputSchema = input({
  body: text('At most 16 KiB. Write @name to mention somebody'),
  reply_to: Type.Optional(RoomIdSchema),
  to: Type.Optional(Type.Array(AgentNameSchema, { maxItems: 50, description: 'Whom it is addressed to; everybody can read it' })),
  require_ack: Type.Optional(Type.Boolean({ description: 'Asks those addressed to confirm with ack_message' }))
})
export const PostMessageOutputSchema = output({
  id: RoomIdSchema,
  event_id: RoomIdSchema,
  mentions: Type.Optional(Type.Array(AgentNameSchema)),
  over_budget: Type.Optional(Type.Array(AgentNameSchema, { description: 'Whom you have called too often today: they read it when they look, and are not woken' }))
})

export const AckMessageInputSchema = input({ message_id: RoomIdSchema })
export const AckMessageOutputSchema = output({ message_id: RoomIdSchema, acked: Type.Literal(true) })

export const ReadMessagesInputSchema = input({ since_id: Since, limit: Limit })
export const ReadMessagesOutputSchema = output({ messages: Type.Array(MessageSchema), next: Next, untrusted: Untrusted })

export const WhatsNewInputSchema = input({})
export const WhatsNewOutputSchema = output({
  events: Type.Array(RoomEventSchema),
  more: Type.Optional(Type.Literal(true, { description: 'There is more: call again' })),
  through: Type.Integer({ description: 'The cursor is here now' }),
  room_info: Type.Optional(RoomInfoSchema),
  untrusted: Untrusted
})

export const ReadEventsInputSchema = input({
  since_id: Since,
  limit: Limit,
  kind: Type.Optional(RoomEventKindSchema),
  task_id: Type.Optional(RoomIdSchema)
})
export const ReadEventsOutputSchema = output({ events: Type.Array(RoomEventSchema), next: Next, untrusted: Untrusted })

const TextKindSchema = Type.Unsafe<'message' | 'task' | 'note' | 'file'>({ type: 'string', enum: ['message', 'task', 'note', 'file'] })

export const SearchInputSchema = input({
  query: Type.String({ minLength: 1, maxLength: 500, description: 'Words; all of them must occur' }),
  kinds: Type.Optional(Type.Array(TextKindSchema, { maxItems: 4 })),
  limit: Limit
})
export const SearchOutputSchema = output({
  hits: Type.Array(output({
    kind: Type.String(),
    id: RoomIdSchema,
    task_id: Type.Optional(RoomIdSchema),
    at: Type.String(),
    author: Type.String(),
    excerpt: Type.String()
  })),
  omitted: Type.Optional(Type.Integer()),
  untrusted: Untrusted
})

export const ListTasksInputSchema = input({
  status: Type.Optional(Type.Unsafe<'open' | 'ready' | 'pending' | 'in_progress' | 'blocked' | 'done' | 'cancelled'>({
    type: 'string',
    enum: ['open', 'ready', 'pending', 'in_progress', 'blocked', 'done', 'cancelled'],
    description: 'open: neither done nor cancelled; ready: pending, with all it depends on done'
  })),
  assignee: Type.Optional(Type.String({ minLength: 1, maxLength: 40, description: 'An agent, or me' })),
  since_id: Since,
  limit: Limit
})
export const ListTasksOutputSchema = output({ tasks: Type.Array(TaskViewSchema), next: Next, untrusted: Untrusted })

export const GetTaskInputSchema = input({ task_id: RoomIdSchema })
export const TaskOutputSchema = Type.Object({ ...TaskSchema.properties, untrusted: Untrusted }, { additionalProperties: false })

export const CreateTaskInputSchema = input({
  title: Type.String({ minLength: 1, maxLength: 300 }),
  body: Type.Optional(text('At most 32 KiB')),
  depends_on: Type.Optional(Type.Array(RoomIdSchema, { maxItems: 50 })),
  claim: Type.Optional(Type.Boolean({ description: 'Take it at once' })),
  ask: Type.Optional(TaskAskSchema)
})
export const ClaimTaskInputSchema = input({
  task_id: RoomIdSchema,
  lease_seconds: Type.Optional(Type.Integer({ minimum: 30, maximum: 86_400, description: 'Give it back by itself when nothing is heard of you for so long' }))
})
export const UpdateTaskInputSchema = input({
  task_id: RoomIdSchema,
  status: Type.Optional(TaskStatusSchema),
  body: Type.Optional(text('At most 32 KiB')),
  note: Type.Optional(text('At most 16 KiB')),
  expected_version: Type.Optional(Type.Integer({ minimum: 1, description: 'Refused where the task has changed since' })),
  ticket_id: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'With status blocked: your own ticket that it waits for' })),
  depends_on: Type.Optional(Type.Array(RoomIdSchema, { maxItems: 50 }))
})
export const ReleaseTaskInputSchema = input({ task_id: RoomIdSchema, reason: Type.Optional(text('At most 16 KiB')) })
export const AddNoteInputSchema = input({ task_id: RoomIdSchema, body: text('At most 16 KiB') })
export const AddNoteOutputSchema = output({ id: NoteSchema.properties.id, task_id: RoomIdSchema })

export const PutFileInputSchema = input({
  name: Type.String({ minLength: 1, maxLength: 200 }),
  content_base64: Type.String(),
  mime: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  expires_in_hours: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 87_600 }))
})
export const PutFileOutputSchema = FileSchema
export const GetFileInputSchema = input({
  file_id: RoomIdSchema,
  offset: Type.Optional(Type.Integer({ minimum: 0 })),
  length: Type.Optional(Type.Integer({ minimum: 1, description: 'Bytes; a page holds about 45 KiB' }))
})
export const GetFileOutputSchema = Type.Object({
  ...FileSchema.properties,
  offset: Type.Integer(),
  content_base64: Type.String(),
  next: Type.Optional(Type.Integer({ description: 'There is more: pass it as offset' })),
  untrusted: Untrusted
}, { additionalProperties: false })
export const ListFilesInputSchema = input({ since_id: Since, limit: Limit })
export const ListFilesOutputSchema = output({ files: Type.Array(FileSchema), next: Next, untrusted: Untrusted })
export const DeleteFileInputSchema = input({ file_id: RoomIdSchema })
export const DeleteFileOutputSchema = output({ file_id: RoomIdSchema, deleted: Type.Literal(true) })

export const GetRoomInfoInputSchema = input({})
export const RoomInfoOutputSchema = Type.Object({ ...RoomInfoSchema.properties, untrusted: Untrusted }, { additionalProperties: false })
export const SetRoomInfoInputSchema = input({
  description: Type.Optional(Type.String()),
  repo_url: Type.Optional(Type.String()),
  onboarding_notes: Type.Optional(Type.String({ description: 'What a newcomer should know' }))
})
export const SetRetentionInputSchema = input({ days: Type.Integer({ minimum: 0, maximum: 36_500, description: '0 keeps everything' }) })
export const DeleteRoomInputSchema = Type.Object({
  room: Type.String({ minLength: 1, maxLength: 40 }),
  confirm: Type.String({ description: 'The name of the room once more: this cannot be undone' })
}, { additionalProperties: false })
export const DeleteRoomOutputSchema = output({ room: Type.String(), deleted: Type.Literal(true) })

export const WaitForChangeInputSchema = input({ timeout_s: Type.Optional(Type.Number({ minimum: 0, description: 'Seconds; at most 90, unless the server says otherwise' })) })
export const WaitForChangeOutputSchema = output({ changed: Type.Boolean(), unread: Type.Integer() })

export const ListAgentsInputSchema = input({})
export const ListAgentsOutputSchema = output({ agents: Type.Array(AgentSchema) })
