import t from 'tap'
import Type from 'typebox'
import { ReadyroomError } from '../../lib/errors'
import { explain, parse } from '../../lib/validate'
import { AnswerBodySchema, HistoryQuerySchema } from '../../schemas/api'
import { AskHumanInputSchema, WaitForAnswerInputSchema } from '../../schemas/mcp'

const ask = (more: object): string => explain(AskHumanInputSchema, { question: 'q', ...more }, 'ask_human')

t.test('a value that fits is given back as it is', async t => {
  const value = { id: 'a', answer: 'yes' }
  t.equal(parse(AnswerBodySchema, value, 'the body'), value)
})

t.test('a value that does not is refused as BAD_REQUEST, in one sentence', async t => {
  t.throws(() => parse(AnswerBodySchema, { id: 'a' }, 'the body'), new ReadyroomError('BAD_REQUEST', 'answer is missing from the body.'))
})

t.test('a sentence names the field, the limit and what was got', async t => {
  const table: Array<[string, string]> = [
    [explain(AskHumanInputSchema, {}, 'ask_human'), 'question is missing from ask_human.'],
    [explain(AskHumanInputSchema, undefined, 'ask_human'), 'ask_human must be an object; got nothing.'],
    [explain(AskHumanInputSchema, null, 'ask_human'), 'ask_human must be an object; got null.'],
    [explain(AskHumanInputSchema, [1, 2], 'ask_human'), 'ask_human must be an object; got a list of 2.'],
    [explain(AskHumanInputSchema, 'x', 'ask_human'), 'ask_human must be an object; got the text "x".'],
    [ask({ question: '' }), 'question must have at least 1 character; got the text "".'],
    [ask({ question: 'x'.repeat(2_001) }), 'question may have at most 2,000 characters; got 2,001.'],
    [ask({ question: 5 }), 'question must be a text; got the number 5.'],
    [ask({ question: null }), 'question must be a text; got null.'],
    [ask({ question: {} }), 'question must be a text; got an object.'],
    [ask({ question: true }), 'question must be a text; got the boolean true.'],
    [ask({ options: 'yes' }), 'options must be a list; got the text "yes".'],
    [ask({ options: 'x'.repeat(41) }), 'options must be a list; got a text of 41 characters.'],
    [ask({ options: ['a'] }), 'options must have at least 2 entries; got a list of 1.'],
    [ask({ options: ['a', 'b', 'c', 'd', 'e', 'f'] }), 'options may have at most 5 entries; got a list of 6.'],
    [ask({ options: ['a', 5] }), 'options[1] must be a text; got the number 5.'],
    [ask({ options: ['a', ''] }), 'options[1] must have at least 1 character; got the text "".'],
    [ask({ options: ['a', 'x'.repeat(201)] }), 'options[1] may have at most 200 characters; got 201.'],
    [ask({ timeout_seconds: 0.5 }), 'timeout_seconds must be at least 1; got 0.5.'],
    [ask({ timeout_seconds: 86_401 }), 'timeout_seconds may be at most 86,400; got 86401.'],
    [ask({ timeout_seconds: '60' }), 'timeout_seconds must be a number; got the text "60".'],
    [ask({ timeout_seconds: NaN }), 'timeout_seconds must be a number; got the number NaN.'],
    [ask({ urgency: 'high' }), 'urgency must be one of "low", "normal", "blocking"; got the text "high".'],
    [ask({ colour: 1 }), 'ask_human has an unknown field "colour"; known are question, options, context, default_answer, timeout_seconds, urgency, stream.'],
    [ask({ colour: 1, 'a"b': 2 }), 'ask_human has unknown fields "colour", "a\\"b"; known are question, options, context, default_answer, timeout_seconds, urgency, stream.'],
    [explain(HistoryQuerySchema, { limit: 1.5 }, 'the query'), 'limit must be a whole number; got the number 1.5.'],
    [explain(WaitForAnswerInputSchema, { id: 'a', timeout_seconds: -1 }, 'wait_for_answer'), 'timeout_seconds must be at least 0; got -1.'],
    [explain(AnswerBodySchema, {}, 'the body'), 'id and answer are missing from the body.'],
    [explain(Type.Object({}, { additionalProperties: false }), { a: 1 }, 'list_pending'), 'list_pending has an unknown field "a"; none are known.'],
    [explain(Type.Object({ a: Type.Object({ 'b/c': Type.Array(Type.Object({ d: Type.Integer() })) }) }), { a: { 'b/c': [{ d: 'x' }] } }, 'it'), 'a.b/c[0].d must be a whole number; got the text "x".'],
    [explain(Type.Object({ a: Type.Object({ b: Type.Integer() }) }), { a: {} }, 'it'), 'a.b is missing from it.'],
    [explain(Type.Object({ a: Type.Boolean() }), { a: 'x' }, 'it'), 'a must be true or false; got the text "x".'],
    [explain(Type.Object({ a: Type.String({ pattern: '^x$' }) }), { a: 'y' }, 'it'), 'a is not valid (pattern); got the text "y".'],
    [explain(AnswerBodySchema, { id: 'a', answer: 'b' }, 'the body'), 'the body is not valid.']
  ]
  for (const [sentence, expected] of table) t.equal(sentence, expected)
})

t.test('an unknown field is told before what follows from it', async t => {
  t.match(explain(AskHumanInputSchema, { questoin: 'q' }, 'ask_human'), /^ask_human has an unknown field "questoin"/)
})

t.test('lengths are counted in code points', async t => {
  t.ok(parse(AnswerBodySchema, { id: '\u{1F600}'.repeat(100), answer: '\u{1F600}'.repeat(16_384) }, 'the body'))
  t.equal(explain(AnswerBodySchema, { id: 'a', answer: '\u{1F600}'.repeat(16_385) }, 'the body'), 'answer may have at most 16,384 characters; got 16,385.')
})
