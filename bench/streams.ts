import { Agent, get } from 'node:http'

export interface Streams {
  /** Resolves when every stream has received `text`. Ask before what says it is sent. */
  heardByAll (text: string): Promise<void>
  close (): void
}

/** Opens so many event streams at once, and resolves when each has begun. Each line is looked at once, by the text that it must hold. */
export async function openStreams (port: number, path: string, count: number): Promise<Streams> {
  const agent = new Agent({ maxSockets: count })
  let awaited: { text: string, missing: number, resolve: () => void } | undefined
  const hear = (line: string): void => {
    if (awaited === undefined || !line.startsWith('data:') || !line.includes(awaited.text)) return
    if (--awaited.missing === 0) awaited.resolve()
  }
  await Promise.all(Array.from({ length: count }, () => new Promise<void>((resolve, reject) => {
    get({ agent, host: '127.0.0.1', port, path, headers: { accept: 'text/event-stream' } }, res => {
      if (res.statusCode !== 200) return reject(new Error(`${path} answered ${res.statusCode}`))
      let rest = ''
      res.setEncoding('utf8')
      res.on('error', () => {})
      res.on('data', (chunk: string) => {
        const lines = (rest + chunk).split('\n')
        rest = lines.pop()!
        lines.forEach(hear)
      })
      res.once('data', () => { resolve() })
    }).on('error', reject)
  })))
  return {
    heardByAll: text => new Promise(resolve => { awaited = { text, missing: count, resolve } }),
    close: () => agent.destroy()
  }
}
