import t from 'tap'
import { httpContract } from '../contract/http'
import { ask } from '../helpers/http'
import { startWorker, TOKEN } from '../helpers/worker'

httpContract(t, {
  name: 'Worker',
  loopback: false,
  // workerd drops a known header that is empty.
  seesEmptyOrigin: false,
  async open (t, { token, originPolicy, allowedOrigins } = {}) {
    const env = {
      ...(token !== undefined && { READYROOM_TOKEN: token }),
      ...(originPolicy !== undefined && { READYROOM_ORIGIN_POLICY: originPolicy }),
      ...(allowedOrigins !== undefined && { READYROOM_ALLOWED_ORIGINS: allowedOrigins.join(', ') })
    }
    const { origin } = await startWorker(t, { env })
    // Nobody may act without a token here: where a test is not about one, the client has it.
    const credential = token === undefined ? { authorization: `Bearer ${TOKEN}` } : {}
    return {
      origin,
      request: (path, { headers = {}, ...init } = {}) => ask(origin, path, { ...init, headers: { ...credential, ...headers } })
    }
  }
})
