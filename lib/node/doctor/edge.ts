import type { Check } from '../../../schemas/doctor'
import { isLoopbackName } from '../../origin'
import { exposedBy } from '../edge-settings'
import { type Look, warn } from './scene'

/** Guards that a setting has taken down. Each may be meant; nobody should find out later that it was not. */
export const lookAtEdge: Look = ({ config: { edge, trustProxy } }) => {
  const checks: Check[] = []
  const say = (message: string, fix: string): void => { checks.push(warn('edge', message, fix)) }
  if (!edge.dnsRebindProtection) {
    say('READYROOM_DNS_REBIND_PROTECTION is off: the Host of a request is not looked at.',
      'Unset it and list the names in READYROOM_ALLOWED_HOSTS, unless a proxy in front checks them')
  }
  if (edge.authFailLimit === 0) say('READYROOM_AUTH_FAIL_LIMIT is 0: wrong tokens are tried without end.', 'Unset it')
  if (trustProxy === true) {
    say('READYROOM_TRUST_PROXY believes forwarding headers of everybody: whoever reaches this port chooses the address that is counted.',
      'Name the proxy, such as READYROOM_TRUST_PROXY=127.0.0.1, unless the proxy is the only way in')
  }
  if (!edge.consoleLanOnly && (edge.enableUi || edge.adminApi)) {
    say(`READYROOM_CONSOLE_LAN_ONLY is off: ${edge.adminApi ? '/ui and /admin are' : '/ui is'} there for whoever reaches this machine.`,
      'Unset it, unless something in front asks for a login')
  }
  if (edge.adminApi && exposedBy(edge) !== undefined) {
    say(`READYROOM_ADMIN_API is on, and ${exposedBy(edge)} lets others in: tokens can be minted from outside by whoever holds one that administers.`,
      'Unset it when nothing is to be administered; `readyroom admin` on this machine needs it not')
  }
  if (edge.publicUrl.startsWith('http:') && !isLoopbackName(new URL(edge.publicUrl).hostname)) {
    say(`READYROOM_PUBLIC_URL is ${edge.publicUrl}: tokens travel in the clear.`, 'Put TLS in front, and write https:')
  }
  if (/^(?:mqtt|ws):/.test(edge.mqttUrl) && !isLoopbackName(new URL(edge.mqttUrl).hostname)) {
    say(`READYROOM_MQTT_URL begins with ${new URL(edge.mqttUrl).protocol}, so that what is said in the rooms travels in the clear, and the password with it.`,
      'Write mqtts: or wss:, unless that network is yours')
  }
  return checks
}
