import t from 'tap'
import { MemoryTicketStore } from '../../lib/memory-store'
import { storeContract } from '../contract/store'

storeContract(t, async (t, { now }) => {
  const store = new MemoryTicketStore({ now })
  await store.load()
  t.teardown(() => store.close())
  return { store }
})
