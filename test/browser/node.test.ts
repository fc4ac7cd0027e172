import t from 'tap'
import { OWNER } from '../../lib/principal'
import { pageContract } from '../contract/page'
import { launchBrowser } from '../helpers/browser'
import { startRoom } from '../helpers/room'

// The whole of the page's contract, on a machine that may be busy with other things.
t.setTimeout(300_000)

pageContract(t, await launchBrowser(t), {
  name: 'Node',
  isLive: true,
  async open (t) {
    const { desk, origin } = await startRoom(t)
    return {
      url: `${origin}/`,
      enqueue: async input => (await desk.ask(input)).id,
      answer: (id, text) => desk.answer(id, text, OWNER),
      cancel: id => desk.cancel(id),
      ticket: id => desk.get(id)
    }
  }
})
