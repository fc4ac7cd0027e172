import t from 'tap'
import { healthy, illnesses } from '../../../helpers/scene'

const TOKEN = 'a-token-that-is-long-enough-for-anybody'
const PASSWORD = 'what-the-broker-asks-for'

const edge = async (t: Parameters<typeof healthy>[0], env: Record<string, string>): Promise<string[]> =>
  illnesses((await healthy(t, { READYROOM_TOKEN: TOKEN, ...env })).scene)

t.test('each guard that a setting takes down is named, with what puts it up again', async t => {
  const cases: Array<[env: Record<string, string>, says: RegExp]> = [
    [{ READYROOM_DNS_REBIND_PROTECTION: 'off' }, /^warn edge: READYROOM_DNS_REBIND_PROTECTION is off.* -> Unset it and list the names/],
    [{ READYROOM_AUTH_FAIL_LIMIT: '0' }, /^warn edge: READYROOM_AUTH_FAIL_LIMIT is 0/],
    [{ READYROOM_TRUST_PROXY: 'on' }, /^warn edge: READYROOM_TRUST_PROXY believes .* -> Name the proxy/],
    [{ READYROOM_CONSOLE_LAN_ONLY: 'off' }, /^warn edge: READYROOM_CONSOLE_LAN_ONLY is off: \/ui is there/],
    [{ READYROOM_ADMIN_API: 'on', READYROOM_PUBLIC_URL: 'https://desk.example' }, /^warn edge: READYROOM_ADMIN_API is on, and READYROOM_PUBLIC_URL/],
    [{ READYROOM_PUBLIC_URL: 'http://desk.example' }, /^warn edge: READYROOM_PUBLIC_URL is http:\/\/desk\.example.*https:/],
    [{ READYROOM_MQTT_URL: `mqtt://me:${PASSWORD}@broker.example` }, /^warn edge: READYROOM_MQTT_URL begins with mqtt:,.*mqtts:/]
  ]
  for (const [env, says] of cases) {
    const found = await edge(t, env)
    t.match(found, [says], JSON.stringify(env))
    t.notMatch(found.join(), PASSWORD)
  }
  t.match(await edge(t, { READYROOM_CONSOLE_LAN_ONLY: 'off', READYROOM_ADMIN_API: 'on' }), [/\/ui and \/admin are there/])
})

t.test('what opens a door and guards it is nothing to complain of', async t => {
  for (const env of [
    { READYROOM_ADMIN_API: 'on' },
    { READYROOM_CONSOLE_LAN_ONLY: 'off', READYROOM_ENABLE_UI: 'off' },
    { READYROOM_TRUST_PROXY: '127.0.0.1', READYROOM_PUBLIC_URL: 'https://desk.example', READYROOM_ALLOWED_HOSTS: 'desk.example' },
    { READYROOM_MQTT_URL: 'mqtt://127.0.0.1:1883' },
    { READYROOM_MQTT_URL: 'mqtts://broker.example' }
  ]) t.strictSame(await edge(t, env), [], JSON.stringify(env))
})
