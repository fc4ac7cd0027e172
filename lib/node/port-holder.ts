import { setTimeout as delay } from 'node:timers/promises'
import { IdentitySchema, type Identity } from '../../schemas/internal'
import { parse } from '../validate'
import { exchange, LinkError, onThisMachine } from './exchange'

/** Who listens on a port of this machine. */
export type PortHolder =
  | { kind: 'nobody' }
  | { kind: 'readyroom', identity: Identity }
  /** Something that takes connections and does not answer as a Ready Room would. */
  | { kind: 'stranger' }
  /** Something that takes connections and says nothing: a stopped process, perhaps one of ours. */
  | { kind: 'silent' }

export async function askPortHolder (bind: string, port: number, timeoutMs: number): Promise<PortHolder> {
  try {
    const identity = await onThisMachine(bind, async host => {
      const answer = await exchange({ host, port, method: 'GET', path: '/internal/identity', timeoutMs })
      try {
        return parse(IdentitySchema, JSON.parse(answer.body), 'The answer')
      } catch (err) {
        throw new LinkError('broken', 'the answer is not that of a Ready Room', err)
      }
    })
    return { kind: 'readyroom', identity }
  } catch (err) {
    const failure = err instanceof LinkError ? err.failure : 'broken'
    return { kind: failure === 'refused' ? 'nobody' : failure === 'silent' ? 'silent' : 'stranger' }
  }
}

export interface JudgePatience {
  /** How long a holder must go on being a stranger, in milliseconds: a Ready Room that is just closing looks like one. */
  strangerMs: number
  /** How long a silent holder is waited for, in milliseconds. */
  silentMs: number
}

/** Who holds a port that could not be listened on, looked at until it is certain. */
export async function judgePortHolder (bind: string, port: number, { strangerMs, silentMs }: JudgePatience): Promise<PortHolder> {
  const start = performance.now()
  for (;;) {
    const holder = await askPortHolder(bind, port, silentMs)
    if (holder.kind !== 'stranger' || performance.now() - start >= strangerMs) return holder
    await delay(Math.min(100, strangerMs / 4))
  }
}
