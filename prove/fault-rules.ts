// The words between a run and the fault layer that it loads into the product. Types alone: the layer imports nothing.

/** A file operation of the product. `sync` is of a file, `syncFolder` of the names in a folder. */
export type Operation = 'open' | 'write' | 'truncate' | 'sync' | 'rename' | 'remove' | 'syncFolder'

export interface Rule {
  op: Operation
  /** The name of the file or folder, without its path. For a rename, that of the file which gets a new one. */
  name: string
  /** How many such operations pass before it takes effect, counted from when the rules were written. 0 if left out. */
  after?: number
  /** How often it takes effect. Without an end if left out. */
  times?: number
  /** The process dies: before the operation, in the middle of a write, or when it is done but nobody has been told. */
  die?: 'before' | 'half' | 'after'
  /** The operation fails with this code. Of a write, half has reached the file by then. */
  fail?: string
  /** It takes so much longer, in milliseconds. */
  slowMs?: number
}

/**
 * What the layer writes down, one JSON object a line, so that it outlives the process: enough to know what a power cut
 * could take. `kept` is where the old content is to be found.
 */
export type Note =
  | { note: 'made', path: string }
  | { note: 'write', path: string, from: number, to: number }
  | { note: 'cut', path: string, to: number, kept: string }
  | { note: 'syncing' | 'synced', path: string, sync: number }
  | { note: 'renamed', path: string, to: string, kept: string | undefined }
  | { note: 'folder', path: string }
  | { note: 'fault', rule: number }
