import type { Test } from 'tap'

/**
 * An empty folder for one test, removed when it ends, but after the teardowns: `t.testdir` alone, called before the
 * first `t.teardown`, is removed before them, under what they still have to close.
 */
export function testFolder (t: Test, content: Parameters<Test['testdir']>[0] = {}): string {
  t.teardown(() => {})
  return t.testdir(content)
}
