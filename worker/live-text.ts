import type { Identity } from '../lib/identity'
import { ReadyroomError } from '../lib/errors'
import type { Principal } from '../lib/principal'

/**
 * A text, page by page, as it is read. A token that is revoked meanwhile, or a failure, cuts it off at once, whether or not
 * anybody reads on: whoever reads it sees that it did not end.
 */
export function textWhileLive (pages: AsyncGenerator<string>, identity: Identity, principal: Principal): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let stop = (): void => {}
  return new ReadableStream<Uint8Array>({
    start (controller) {
      stop = identity.onRevoked(() => {
        if (identity.isLive(principal)) return
        stop()
        controller.error(over())
      })
    },
    async pull (controller) {
      const { done, value } = await pages.next()
      // It may have been revoked while the page was read.
      if (!identity.isLive(principal)) throw over()
      if (!done) return controller.enqueue(encoder.encode(value))
      stop()
      controller.close()
    },
    async cancel () {
      stop()
      await pages.return(undefined)
    }
  })
}

const over = (): ReadyroomError => new ReadyroomError('UNAUTHORIZED', 'The token was revoked while this was read.')
