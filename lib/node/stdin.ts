import { fstatSync, type Stats } from 'node:fs'

/**
 * Whether an agent speaks on standard input. A terminal or /dev/null is a character device: nobody is there, and its
 * end means nothing (a container, a service manager, and a closed descriptor too, which Node opens as /dev/null). All
 * else, a pipe, a socket or a file, brings messages, and its end means that the agent has left.
 */
export function isAgentOn (fd: number, stat: (fd: number) => Pick<Stats, 'isCharacterDevice'> = fstatSync): boolean {
  try {
    return !stat(fd).isCharacterDevice()
  } catch {
    return false
  }
}
