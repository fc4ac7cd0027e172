import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import t from 'tap'
import { WORDS } from '../../scripts/openapi-words'
import { createDocument } from '../../scripts/openapi'

const file = join(import.meta.dirname, '../../schemas/openapi.json')

t.test('the document that is served is the one that the routes and their schemas make: npm run openapi', async t => {
  t.strictSame(JSON.parse(readFileSync(file, 'utf8')), await createDocument())
})

t.test('it is valid OpenAPI 3.1', async t => {
  const validator = new Validator()
  const { valid, errors } = await validator.validate(JSON.parse(readFileSync(file, 'utf8')))
  t.ok(valid, JSON.stringify(errors))
  t.equal(validator.version, '3.1')
  const broken = await new Validator().validate({ openapi: '3.1.0', info: { title: 'x' }, paths: {} })
  t.notOk(broken.valid, 'which is not said of everything')
})

t.test('a route that nobody has described, and a description of no route, are found by name', async t => {
  const { 'GET /api/audit': audit, ...rest } = WORDS
  const change = (words: object): void => {
    for (const key of Object.keys(WORDS)) delete WORDS[key]
    Object.assign(WORDS, words)
  }
  t.teardown(() => change({ ...rest, 'GET /api/audit': audit }))
  change(rest)
  await t.rejects(createDocument(), /no words for GET \/api\/audit/)
  change({ ...rest, 'GET /api/audit': audit, 'GET /api/gone': audit })
  await t.rejects(createDocument(), /words for no route: GET \/api\/gone/)
})
