import { ReadyroomError, type ErrorCode } from '../errors'

/** An error on its way from where the database is: what crosses between threads or objects loses its class and its fields. */
export interface ErrorAcross { code: ErrorCode, message: string, detail?: string }

export function toAcross (err: unknown): ErrorAcross {
  const { message, stack, cause } = err as Error
  const named = err instanceof ReadyroomError
  const detail = named ? cause && String(cause) : stack
  return { code: named ? err.code : 'INTERNAL', message, ...(typeof detail === 'string' && { detail }) }
}

/** The error again, on the side of the caller. */
export function fromAcross ({ code, message, detail }: ErrorAcross): Error {
  const cause = detail === undefined ? undefined : new Error(detail)
  return code === 'INTERNAL' ? Object.assign(new Error(message), { cause }) : new ReadyroomError(code, message, { cause })
}
