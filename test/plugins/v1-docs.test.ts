import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { boxesIn, commandsOf } from '../helpers/docs'
import { listenWithRooms } from '../helpers/rooms'

const run = promisify(execFile)

t.test('every command that the page on the room shows does what it says, typed as it stands', async t => {
  const { origin, mint } = await listenWithRooms(t)
  await mint('bob')
  const env = { ...process.env, READYROOM_URL: origin, READYROOM_AGENT_TOKEN: await mint('ann') }
  const outputs: string[] = []
  for (const command of boxesIn('docs/room.md', 'sh').flatMap(commandsOf).filter(command => command.startsWith('curl '))) {
    const { stdout } = await run('sh', ['-c', command.replace(/^curl /, 'curl --silent --show-error --fail-with-body ')], { env })
    outputs.push(stdout)
  }
  t.match(outputs, [
    /"mentions":\["bob"\]/, /the build is green/, /"tasks":\[\]/, /"kind":"message"/, /"room_info"/,
    /"unread":0/, /"through":\d/, /"name":"note.txt"/, /^hello$/, /^# The room main/
  ])
  t.equal(outputs.length, 10)
})
