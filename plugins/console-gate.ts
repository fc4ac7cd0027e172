import fp from 'fastify-plugin'
import { isAtHome, spokenFor, type ConsolePlace } from '../lib/console-gate'
import { httpRefusal } from '../lib/http-refusals'
import { sentHeader } from './sent-header'

/**
 * Nothing in this scope is there for whoever comes from outside: 404, whatever the method. A token could be tried on a
 * page that can be seen, and a page that shows everything should not stand at the public end of a tunnel by accident.
 */
export default fp<ConsolePlace>(async function consoleGate (app, place) {
  app.addHook('onRequest', async request => {
    const { raw, socket, ips = [], headers } = request
    const forwarded = ips.length > 1
    const host = sentHeader(request, 'host')
    const named = [host, /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i.exec(raw.url ?? '')?.[1] ?? host]
    const before = forwarded ? spokenFor(name => sentHeader(request, name)) : { addresses: [], hosts: [] }
    const caller = {
      addresses: [socket.remoteAddress ?? '', ...ips, ...before.addresses],
      hosts: [...named, ...before.hosts],
      headers: Object.keys(headers),
      forwarded
    }
    if (!isAtHome(caller, place)) throw httpRefusal('notFound')
  })
}, { name: 'readyroom-console-gate', fastify: '5.x', dependencies: ['readyroom-errors'] })
