import t from 'tap'
import { FileTicketStore } from '../../../lib/node/file-store'
import { storeContract } from '../../contract/store'
import { answered, decide, START } from '../../helpers/decisions'
import { testFolder } from '../../helpers/folder'

storeContract(t, async (t, { now }) => {
  const dir = testFolder(t)
  const open = async () => {
    const store = new FileTicketStore({ dir, instance: 'test', now })
    t.teardown(() => store.close())
    await store.load()
    return store
  }
  const store = await open()
  return {
    store,
    async reopen () {
      await store.close()
      return await open()
    }
  }
})

t.test('a clock that was ahead, while the folder was closed and opened, takes nothing out of the last day once it is right again', async t => {
  const dir = testFolder(t)
  let now = START
  const open = async () => {
    const store = new FileTicketStore({ dir, instance: 'test', now: () => now })
    t.teardown(() => store.close())
    await store.load()
    return store
  }
  const first = await open()
  const asked = decide('asked')
  await first.commit(asked)
  await first.commit(answered(asked, 'yes', 5))
  now = START + 30 * 86_400_000
  t.strictSame(await first.list({}), [], 'long over, by this clock')
  await first.close()
  const second = await open()
  await second.close()
  now = START + 1_000
  const third = await open()
  t.strictSame((await third.list({})).map(({ id }) => id), ['asked'])
})
