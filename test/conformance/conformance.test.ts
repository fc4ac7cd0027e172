import t from 'tap'
import { conforms, REVISIONS } from '../helpers/conformance'
import { startRoom } from '../helpers/room'

for (const revision of REVISIONS) {
  t.test(`everything that ${revision} asks of a server passes, but for what the baseline names`, async t => {
    // The suite sends no Origin, as programs do not; under `strict` it could not even connect.
    const { url } = await startRoom(t, { originPolicy: 'spec' })
    await conforms(t, url, revision)
  })
}
