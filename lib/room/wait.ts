import type { RoomEvent } from '../../schemas/room'
import { ReadyroomError } from '../errors'
import type { RoomDesk } from './desk'
import type { CallHead } from './store'

/**
 * Resolves when somebody else has done something in the room that the caller has not seen, or the time is over.
 * @param options `ms` how long at most, in milliseconds.
 * @throws UNAUTHORIZED and ROOM_NOT_FOUND at once, when the caller's token is revoked or the room deleted meanwhile.
 */
export async function waitForChange (
  rooms: RoomDesk, head: CallHead, { ms, signal }: { ms: number, signal?: AbortSignal | undefined }
): Promise<{ changed: boolean, unread: number }> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { actor: { name }, room, token } = head
  // That the caller itself has gone is told before its tokens are known to be revoked, and looking would bring it back.
  const isNews = ({ actor, kind, body }: RoomEvent): boolean => actor !== name && !(kind === 'agent_gone' && body === name)
  let revoked = false
  const stopHearing = [
    rooms.feed.subscribe(room, event => { if (isNews(event)) resolve() }),
    rooms.feed.onDeleted(gone => { if (gone === room) resolve() }),
    rooms.tokens.onRevoked(ids => {
      if (token === undefined || !ids.includes(token)) return
      revoked = true
      resolve()
    })
  ]
  const timer = setTimeout(resolve, ms)
  const over = AbortSignal.any([rooms.closing, ...signal === undefined ? [] : [signal]])
  over.addEventListener('abort', () => { resolve() }, { once: true })
  if (over.aborted) resolve()
  try {
    // Subscribed before it is read, so that nothing falls between.
    const before = await rooms.run('peek', head, { limit: 1 })
    if (before.unread > 0) return { changed: true, unread: before.unread }
    await promise
    if (revoked) throw new ReadyroomError('UNAUTHORIZED', 'The token was revoked while this was waited for.')
    const { unread } = await rooms.run('peek', { ...head, now: rooms.system().now }, { limit: 1 })
    return { changed: unread > 0, unread }
  } finally {
    clearTimeout(timer)
    for (const stop of stopHearing) stop()
  }
}
