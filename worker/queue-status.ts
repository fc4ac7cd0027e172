/** How a queue stands; nothing of any ticket. */
export interface QueueStatus {
  instance: string
  pending: number
  /** Calls of wait_for_answer that are under way. */
  waiting: number
  /** The last seq of the audit log. */
  seq: number
}
