import { readNews, type News } from './news'
import { ask, type Answer } from './request'
import type { Settings } from './settings'
import { pause, withResolvers } from './waiting'

const ANSWER_MS = 15_000
const PAGE = 500
/** What a server that holds no stream and does not say how often it may be asked is asked at, in seconds. */
const DEFAULT_S = 15
const LEAST_S = 1
const MOST_S = 3_600
/** Later than whatever has happened: what is new from now on comes after it. No query of ours takes a longer number. */
const NOW = 999_999_999_999_999

/** How long to wait, in milliseconds, by a `Retry-After` in seconds (RFC 9110, 10.2.3). */
export function pollMs (header: unknown): number {
  const seconds = typeof header === 'string' && /^\d{1,9}$/.test(header.trim()) ? Number(header) : DEFAULT_S
  return Math.min(Math.max(seconds, LEAST_S), MOST_S) * 1_000
}

export interface PollOptions {
  settings: Settings
  everyMs: number
  /** The last event that is known; undefined where a first start begins now. */
  since: () => number | undefined
  /** The error of an answer that is none. */
  refused: (status: number) => Error
  /** What came, which is nothing as a rule. */
  onNews: (news: News) => void
  /** Called now and then between two questions. */
  alive: () => void
  signal: AbortSignal
}

const ALIVE_MS = 15_000

/**
 * Asks again and again what is new, of a server that holds no stream. Resolves when it is told to end.
 * @throws Error where there was no answer, or none of a Ready Room
 */
export async function poll ({ settings, everyMs, since, refused, onNews, alive, signal }: PollOptions): Promise<void> {
  const { promise: over, resolve } = withResolvers<undefined>()
  const stop = (): void => { resolve(undefined) }
  signal.addEventListener('abort', stop, { once: true })
  try {
    while (!signal.aborted) {
      const from = since()
      const asked = ask(settings, { path: 'v1/unread', query: { room: settings.room, since: from ?? NOW, limit: PAGE }, ms: ANSWER_MS })
      // Whoever has ended waits for no answer.
      asked.catch(() => {})
      const answer = await Promise.race<Answer | undefined>([asked, over])
      if (answer === undefined) return
      if (answer.status !== 200) throw refused(answer.status)
      const news = readNews(answer.json)
      if (news === undefined) throw new Error('what answers there is no Ready Room')
      onNews(news)
      // A page that was cut is read on at once, where that leads any further.
      if (news.unread > news.events.length && since() !== from) continue
      for (let left = everyMs; left > 0 && !signal.aborted; left -= ALIVE_MS) {
        alive()
        await pause(Math.min(left, ALIVE_MS), signal)
      }
    }
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
