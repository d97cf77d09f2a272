import { expect, test } from 'vitest'
import { answerOf, canonicalKey, openAnswer, sealAnswer } from '../../../../internal/http/mutations/kept-answer.js'

const SECRET = new Uint8Array(32).fill(1)
const KEY = '0f8fad5b-d9cb-469f-a165-70867728950e'
const ANSWER = answerOf({ status: 201, body: { secret: 'shown once' }, location: '/things/1' })
const sealed = sealAnswer(SECRET, KEY, 'mutation.x', ANSWER)

test('a stored reply opens only with the instance secret, the client’s key and its own record key', () => {
  expect(openAnswer(SECRET, KEY, 'mutation.x', sealed)).toEqual(ANSWER)
})

test.each<[string, Uint8Array, string, string]>([
  ['another Idempotency-Key', SECRET, '1f8fad5b-d9cb-469f-a165-70867728950e', 'mutation.x'],
  ['no Idempotency-Key', SECRET, '', 'mutation.x'],
  ['another secret', new Uint8Array(32), KEY, 'mutation.x'],
  ['another record key', SECRET, KEY, 'mutation.y'],
])('a stored reply does not open with %s', (_, secret, key, context) => {
  expect(() => openAnswer(secret, key, context, sealed)).toThrow()
})

test('all spellings of an Idempotency-Key are normalized to one', () => {
  expect(canonicalKey(`"${KEY.toUpperCase()}"`)).toBe(KEY)
})

test('a stored reply without a body has no Content-Type', () => {
  expect(answerOf({ status: 204 })).toEqual({ head: '204 No Content\r\nCache-Control: no-store', body: '' })
})
