/** A file of settings that cannot be read or changed. The message is a clause, such as "is not JSON: ...". */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
  /** Counted from one, where there is a place to look at. */
  readonly line: number | undefined

  constructor (message: string, line?: number) {
    super(message)
    this.line = line
  }
}
