/** This process cannot take part; the message is the remedy, and the exit code is 1. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
  readonly exitCode = 1
}
