import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'

const github = join(import.meta.dirname, '../.github')

interface Step { uses?: string, run?: string, with?: Record<string, unknown>, env?: Record<string, string> }
interface Job {
  'timeout-minutes'?: number
  if?: string
  permissions?: Record<string, string>
  strategy?: { matrix: Record<string, unknown[]> }
  steps: Step[]
}
interface Workflow {
  on: Record<string, { branches?: string[], tags?: string[] } | null>
  permissions?: Record<string, string>
  concurrency?: unknown
  jobs: Record<string, Job>
}

const read = (name: string): string => readFileSync(join(github, name), 'utf8')
const names = readdirSync(join(github, 'workflows'))
const workflow = (name: string): Workflow => parse(read(`workflows/${name}.yml`)) as Workflow
const stepsOf = ({ jobs }: Workflow): Step[] => Object.values(jobs).flatMap(({ steps }) => steps)
const step = (of: Workflow, action: string): Record<string, unknown> => stepsOf(of).find(({ uses }) => uses?.startsWith(`${action}@`))?.with ?? {}

t.test('every action is pinned by commit, with its version beside it, and one action by one commit', async t => {
  const pins = new Map<string, string>()
  for (const name of names) {
    const uses = read(`workflows/${name}`).split('\n').filter(line => /\buses:/.test(line))
    t.ok(uses.length > 0, name)
    for (const line of uses) {
      const [, action = '', pin = ''] = /uses: ([\w./-]+)@([0-9a-f]{40} # v\d+\.\d+\.\d+)$/.exec(line) ?? []
      t.ok(pin, line)
      t.equal(pins.get(action) ?? pin, pin, action)
      pins.set(action, pin)
    }
  }
})

t.test('every workflow has the least rights, an end in time, and no way for a title or a branch name into a shell', async t => {
  t.strictSame(names.sort(), ['ci.yml', 'deploy-worker.yml', 'publish-npm.yml', 'publish.yml'])
  for (const name of names) {
    const flow = workflow(name.replace('.yml', ''))
    t.strictSame(flow.permissions, { contents: 'read' }, name)
    t.ok(flow.concurrency, name)
    t.notOk('pull_request_target' in flow.on || 'workflow_run' in flow.on, name)
    for (const [id, job] of Object.entries(flow.jobs)) t.ok((job['timeout-minutes'] ?? 360) <= 45, `${name}: ${id}`)
    for (const { uses, run, with: options } of stepsOf(flow)) {
      if (uses?.startsWith('actions/checkout@')) t.equal(options?.['persist-credentials'], false, name)
      if (run !== undefined) t.notMatch(run, /\$\{\{/, name)
    }
  }
})

t.test('continuous integration runs what a contributor runs, the package on every Node it promises, and the image', async t => {
  const ci = workflow('ci')
  t.strictSame(Object.keys(ci.on).sort(), ['pull_request', 'push'])
  t.strictSame(ci.jobs['package']?.strategy?.matrix, { node: [22, 24, 26] })
  const commands = stepsOf(ci).map(({ run }) => run ?? '')
  for (const command of ['bash .ci/run', 'docker build -f docker/Dockerfile', 'npm run test:container', 'npm run test:proxy']) t.ok(commands.some(run => run.includes(command)), command)
  const { engines } = JSON.parse(readFileSync(join(github, '../package.json'), 'utf8'))
  t.match(engines.node, />=22\./)
})

t.test('the image is published for both platforms, with provenance, a bill of materials and an attestation', async t => {
  const publish = workflow('publish')
  t.strictSame(publish.on, { push: { branches: ['main'], tags: ['v*'] } })
  t.strictSame(publish.jobs['image']?.permissions, { contents: 'read', packages: 'write', 'id-token': 'write', attestations: 'write' })
  t.equal(publish.jobs['image']?.strategy?.matrix['include']?.length, 1)
  t.match(step(publish, 'docker/build-push-action'), {
    platforms: 'linux/amd64,linux/arm64', push: true, provenance: 'mode=max', sbom: true, 'cache-from': /scope=\$\{\{ matrix\.image \}\}/, 'cache-to': /scope=\$\{\{ matrix\.image \}\}/
  })
  t.match(step(publish, 'docker/login-action'), { registry: 'ghcr.io', password: '${{ secrets.GITHUB_TOKEN }}' }) // eslint-disable-line no-template-curly-in-string
  t.equal(step(publish, 'actions/attest-build-provenance')['push-to-registry'], true)
  const tags = String(step(publish, 'docker/metadata-action')['tags'])
  for (const tag of ['latest', 'type=semver', 'type=sha,prefix=sha-,format=short']) t.ok(tags.includes(tag), tag)
})

t.test('the package is published from a tag that is its version, and by no stored token', async t => {
  const publish = workflow('publish-npm')
  t.strictSame(publish.on, { push: { tags: ['v*'] } })
  t.strictSame(publish.jobs['publish']?.permissions, { contents: 'read', 'id-token': 'write' })
  const text = read('workflows/publish-npm.yml')
  t.match(text, /npm publish --provenance --access public/)
  t.match(text, /test "\$GITHUB_REF_NAME" = "v\$\(/)
  t.notMatch(text, /secrets\.|NODE_AUTH_TOKEN/)
  t.notMatch(text, /cache: npm/)
})

t.test('the Worker is deployed only where its operator has said so', async t => {
  const deploy = workflow('deploy-worker')
  t.strictSame(deploy.on, { push: { tags: ['v*'] } })
  for (const job of Object.values(deploy.jobs)) t.equal(job.if, "vars.ENABLE_WORKER_DEPLOY == 'true'")
})

t.test('actions, packages and base images are all kept current', async t => {
  const { updates } = parse(read('dependabot.yml')) as { updates: Array<{ 'package-ecosystem': string, directory: string }> }
  t.strictSame(updates.map(update => [update['package-ecosystem'], update.directory]), [['github-actions', '/'], ['npm', '/'], ['docker', '/docker']])
})

t.test('each form for an issue has what its host asks of it, and a hole is led away from there', async t => {
  for (const name of readdirSync(join(github, 'ISSUE_TEMPLATE')).filter(name => name !== 'config.yml')) {
    const { body, ...form } = parse(read(`ISSUE_TEMPLATE/${name}`)) as { name: string, description: string, body: Array<{ type: string, id?: string, attributes: { label: string, options?: string[] } }> }
    t.ok(form.name && form.description, name)
    const ids = body.map(({ id }) => id)
    t.equal(new Set(ids).size, ids.length, name)
    for (const { type, attributes } of body) {
      t.ok(['textarea', 'input', 'dropdown'].includes(type), type)
      t.ok(attributes.label)
      t.equal(attributes.options !== undefined, type === 'dropdown')
    }
  }
  t.match(read('ISSUE_TEMPLATE/config.yml'), /security\/advisories\/new/)
})
