import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core'
import type { Test } from 'tap'
import type { EnqueueInput } from '../../../lib/lifecycle'
import type { Ticket } from '../../../schemas/ticket'
import { card, openPage, recent } from '../../helpers/browser'

/** A Ready Room in whose page somebody drains, and what happens elsewhere: by agents, and by other people. */
export interface PageRoom {
  url: string
  /** Enqueues a ticket and resolves with its id. */
  enqueue (input: EnqueueInput): Promise<string>
  answer (id: string, text: string): Promise<unknown>
  cancel (id: string): Promise<unknown>
  ticket (id: string): Promise<Ticket>
}

export interface PageTarget {
  name: string
  /** Whether it tells by itself what happens. Where it does not, the page polls. */
  isLive: boolean
  /** What the page has been given before. */
  token?: string
  /** A Ready Room without pending tickets, gone with the test. */
  open (t: Test): Promise<PageRoom>
}

export type Fields = Partial<EnqueueInput>
export type Tickets = string[] | Record<string, Fields>

export interface SceneOptions {
  context?: BrowserContextOptions
  /** What is pending when the page opens, oldest first, by the name that the scenario calls it. */
  tickets?: Tickets
  /** Whether the page gets no event stream, even where there is one. */
  polls?: boolean
  /** Runs before the page is opened. */
  before?: (scene: Scene) => Promise<unknown>
}

/** What a person has before them, and what their page sent. Scenarios call tickets by names, whatever their ids. */
export class Scene {
  readonly room: PageRoom
  readonly context: BrowserContext
  /** The answers that the page sent, in their order; refused ones as well. */
  readonly sent: Array<{ name: string, answer: string }> = []
  /** The paths that the page asked for. */
  readonly asked: string[] = []
  page!: Page
  readonly #isLive: boolean
  readonly #ids = new Map<string, string>()

  constructor (room: PageRoom, context: BrowserContext, isLive: boolean) {
    this.room = room
    this.context = context
    this.#isLive = isLive
    context.on('request', request => {
      const { pathname } = new URL(request.url())
      this.asked.push(pathname)
      if (request.method() !== 'POST' || pathname !== '/api/answer') return
      const { id, answer } = request.postDataJSON() as { id: string, answer: string }
      this.sent.push({ name: this.nameOf(id), answer })
    })
  }

  /** An agent asks. A field that is left out has a value that is as good as any. */
  async ask (name: string, fields: Fields = {}): Promise<void> {
    this.#ids.set(name, await this.room.enqueue({ stream: 'alpha', question: `Question ${name}?`, ...fields }))
  }

  async askAll (tickets: Tickets): Promise<void> {
    const named = Array.isArray(tickets) ? tickets.map(name => [name, {}] as const) : Object.entries(tickets)
    for (const [name, fields] of named) await this.ask(name, fields)
  }

  id (name: string): string {
    const id = this.#ids.get(name)
    if (id === undefined) throw new Error(`No ticket is called ${name}`)
    return id
  }

  nameOf (id: string | null): string {
    return [...this.#ids].find(([, known]) => known === id)?.[0] ?? `unknown ${id}`
  }

  answer (name: string, text: string): Promise<unknown> { return this.room.answer(this.id(name), text) }
  cancel (name: string): Promise<unknown> { return this.room.cancel(this.id(name)) }
  ticket (name: string): Promise<Ticket> { return this.room.ticket(this.id(name)) }

  card (name: string): Locator { return card(this.page, this.id(name)) }
  recent (name: string): Locator { return recent(this.page, this.id(name)) }

  /** The tickets that stand there, from above. */
  async names (): Promise<string[]> {
    const ids = await this.page.locator('.card').evaluateAll(cards => cards.map(card => card.getAttribute('data-id')))
    return ids.map(id => this.nameOf(id))
  }

  async selected (): Promise<string> {
    return this.nameOf(await this.page.locator('.card[aria-current=true]').getAttribute('data-id'))
  }

  /** Resolves once the page knows how it hears of things. */
  async ready (page = this.page): Promise<void> {
    await (this.#isLive ? page.locator('.feed.live') : page.getByText('Polling every 5 s')).waitFor()
  }

  /** What just happened elsewhere is on its way to the page. Where it polls, the person looks at it again, which reads at once. */
  async told (page = this.page): Promise<void> {
    if (!this.#isLive) await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
  }

  /** From here on the page that polls hears of nothing but what it sends itself. */
  async keepUninformed (): Promise<void> {
    await this.context.route('**/api/tickets', route => route.abort())
  }
}

const DEADLINE_MS = 20_000

/** Opens the page of a Ready Room, in a browser profile of its own. */
export type Open = (t: Test, options?: SceneOptions) => Promise<Scene>

export const opener = (browser: Browser, target: PageTarget): Open => async (t, { context: options, tickets = [], polls = false, before } = {}) => {
  const room = await target.open(t)
  const context = await browser.newContext({ viewport: { width: 1_000, height: 900 }, locale: 'en-GB', ...options })
  t.teardown(() => context.close())
  context.setDefaultTimeout(DEADLINE_MS)
  if (target.token !== undefined) await context.addInitScript(`localStorage.setItem('readyroom-token:/', ${JSON.stringify(target.token)})`)
  const scene = new Scene(room, context, target.isLive && !polls)
  if (polls) await context.route('**/api/events', route => route.abort())
  await scene.askAll(tickets)
  await before?.(scene)
  scene.page = await openPage(t, context, room.url)
  return scene
}
