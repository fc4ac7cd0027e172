import t from 'tap'
import { badSetting, readOrigins, readPolicy, readSources, readToken, tokenWarning } from '../../lib/settings'

t.test('origins are read as a browser sends them, once each', async t => {
  t.strictSame(readOrigins('https://Desk.example/, http://127.0.0.1:9000,https://desk.example:443'), ['https://desk.example', 'http://127.0.0.1:9000'])
  for (const text of ['desk.example', 'https://*.example', 'https://desk.example/path', 'ftp://desk.example', 'https://me@desk.example']) {
    t.throws(() => readOrigins(text), { message: /is no origin/ }, text)
  }
})

t.test('policy, sources and token say what is allowed', async t => {
  t.equal(readPolicy(' spec '), 'spec')
  t.throws(() => readPolicy('loose'), { message: /strict, which refuses/ })
  t.strictSame(readSources('https://*.desk.example vscode-webview://*'), ['https://*.desk.example', 'vscode-webview://*'])
  t.throws(() => readSources('*'), { message: /names no site/ })
  t.equal(readToken('secret'), 'secret')
  for (const token of ['', ' ', 'two words', 'gehe\u00efm', 'x'.repeat(1_025)]) t.throws(() => readToken(token), { message: /^(is|holds)/ })
})

t.test('a short token is warned about without being shown', async t => {
  t.match(tokenWarning('hunter2'), /^The token has 7 characters/)
  t.notMatch(tokenWarning('hunter2'), /hunter2/)
  t.equal(tokenWarning('x'.repeat(24)), undefined)
})

t.test('the sentence about a bad setting has its name, its value and one full stop', async t => {
  t.equal(badSetting('READYROOM_PORT', 'x', new Error('must be a number')), 'READYROOM_PORT is "x": must be a number.')
  t.equal(badSetting('READYROOM_TOKEN', undefined, new Error('is blank.')), 'READYROOM_TOKEN is blank.')
  t.ok(badSetting('READYROOM_BIND', 'x'.repeat(500), new Error('no')).length < 250)
})

t.test('the password in an address is in no sentence about it, whatever is wrong with it', async t => {
  for (const text of ['mqtt://me:hunter2@broker.lan/#x', 'mqtt://me:hun#ter2@broker.lan', 'mqtt://me:hun/ter2@broker.lan', 'https://hunter2@desk.example/a', 'me:hunter2@broker.lan', 'mqtt://me:hun@ter2@broker.lan']) {
    t.notMatch(badSetting('READYROOM_MQTT_URL', text, new Error('it must be another')), /hun|ter2/, text)
  }
  for (const read of [readOrigins, readSources]) {
    t.throws(() => read('https://me:hunter2@desk.example/x'), { message: /^"https:\/\/\*\*\*@desk\.example\/x" (?:is no origin|names no site)/ })
  }
  for (const text of ['127.0.0.1:80', '[::1]:*', 'https://desk.example/me', 'lea@desk']) t.match(badSetting('X', text, new Error('no')), text)
})
