// Suites that need more than a checkout: each says why it cannot run here, where it cannot. None is part of `npm test`.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'

const run = promisify(execFile)
const says = (command, ...args) => run(command, args, { timeout: 60_000 }).then(({ stdout }) => stdout.trim(), () => undefined)

/** Why no container can be run, or undefined where one can. */
async function whyNoEngine () {
  if (process.platform !== 'linux') return 'it looks at folders and processes as Linux shows them'
  if (process.getuid() !== 0) return 'it makes folders of several users, which root alone may do'
  if (await says('docker', 'version', '--format', '{{.Server.Version}}') === undefined) {
    return 'no container engine answers. Start yours, or on a Debian that has none: eval "$(sudo scripts/container-engine.sh up)"'
  }
}

async function whyNoArm64 () {
  return await whyNoEngine() ?? (process.arch === 'arm64' || existsSync('/proc/sys/fs/binfmt_misc/qemu-aarch64')
    ? undefined
    : 'this machine neither is an arm64 nor runs its programs (binfmt_misc has no qemu-aarch64)')
}

async function whyNoProxy () {
  return await says('nginx', '-v') === undefined ? 'there is no nginx on the PATH (Debian: apt-get install nginx-light; caddy is tried too where there is one)' : undefined
}

const CLIENTS = '@anthropic-ai/claude-code @openai/codex @google/gemini-cli opencode-ai'

// They are a gigabyte, and are asked for what they are today, not for a version of then.
async function whyNoClients () {
  const folder = process.env.READYROOM_TEST_CLIENTS
  if (folder === undefined) return `READYROOM_TEST_CLIENTS names no folder with clients in it. To make one: npm install --prefix clients ${CLIENTS}; READYROOM_TEST_CLIENTS=$PWD/clients npm run test:clients`
  if (!existsSync(`${folder}/node_modules/.bin`)) return `${folder} has no clients in it: npm install --prefix ${folder} ${CLIENTS}`
}

export const aside = {
  container: { why: whyNoEngine, folders: ['test/container/container.test.ts'] },
  'container-arm64': { why: whyNoArm64, folders: ['test/container/arm64.test.ts'] },
  proxy: { why: whyNoProxy, folders: ['test/proxy'] },
  clients: { why: whyNoClients, folders: ['test/clients'] }
}
