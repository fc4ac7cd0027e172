import { createWorld, SCRIPT, type World } from '../test/helpers/process'

/** Runs `use` on a throw-away machine of its own. Whatever is left behind there is an error, once all of it has been ended. */
export async function inWorld<T> (use: (world: World) => Promise<T>): Promise<T> {
  if (SCRIPT.length !== 1) throw new Error('Only what is built can be proved: npm run build')
  const ends: Array<() => unknown> = []
  const world = await createWorld({ teardown: end => { ends.push(end) } })
  let result: T
  try {
    result = await use(world)
  } catch (err) {
    for (const end of ends) await Promise.resolve(end()).catch(() => {})
    throw err
  }
  for (const end of ends) await end()
  return result
}
