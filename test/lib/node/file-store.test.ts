import t from 'tap'
import { FileTicketStore } from '../../../lib/node/file-store'
import { storeContract } from '../../contract/store'
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
