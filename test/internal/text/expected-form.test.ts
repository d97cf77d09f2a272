import { expect, test } from 'vitest'
import { z } from 'zod'
import { compileSchema } from '../../../internal/text/compile-schema.js'
import { expectedForm } from '../../../internal/text/expected-form.js'
import { fieldError, firstOfEachPlace } from '../../../internal/text/field-errors.js'
import { AMOUNT_TEXT, DECIMAL_TEXT, instant, modelName, name, uuid } from '../../../internal/text/plain-text.js'

const DECIMAL = 'must be a decimal string, such as "0.25": at most 12 digits before the point and 18 after it'

/** A schema, a value that does not match it, and what is said of it: by zod for mutations, by ajv for events. */
const CASES: readonly (readonly [string, z.ZodType, unknown, string])[] = [
  ['a UUID', uuid(), 'x', 'must be a UUID'],
  ['a UUID that may be absent', uuid().nullish(), 'x', 'must be a UUID'],
  ['an amount', z.string().regex(AMOUNT_TEXT), '1e3', DECIMAL],
  ['a decimal', z.string().regex(DECIMAL_TEXT), '-1', DECIMAL.replace('12', '20')],
  ['a time', instant(), 'yesterday', 'must be an RFC 3339 time in UTC'],
  ['a name', name(), 'a\nb', 'must be text without control characters'],
  ['a model', modelName(), 'a<b', 'must consist of letters, digits, marks, spaces and . _ - / : @ +'],
  ['text', z.string(), 1, 'must be a string'],
  ['a flag', z.boolean(), 'yes', 'must be true or false'],
  ['an integer', z.int(), 0.5, 'must be an integer'],
  ['a list', z.array(z.string()), 'a', 'must be an array'],
  ['an object', z.object({}), 'a', 'must be an object'],
  ['a choice', z.enum(['day', 'week']), 'year', 'must be one of day, week'],
  ['one value', z.literal(true), false, 'must be true'],
  ['the least number', z.int().min(1), 0, 'must be at least 1'],
  ['the largest number', z.number().max(100), 101, 'must be at most 100'],
  ['a number that is no bound', z.number().gt(0), 0, 'must be above 0'],
  ['the shortest text', z.string().min(2), 'a', 'must have at least 2 characters'],
  ['the longest text', z.string().max(1), 'ab', 'must have at most 1 character'],
  ['the longest list', z.array(z.int()).max(1), [1, 2], 'must have at most 1 entry'],
  ['the shortest list', z.array(z.int()).min(2), [1], 'must have at least 2 entries'],
]

test.each(CASES)('the form of %s is named', (_, schema, value, form) => {
  const byZod = z.object({ field: schema }).safeParse({ field: value }, { error: expectedForm }).error?.issues ?? []
  const byAjv = compileSchema(z.object({ field: schema }))({ field: value }).map((error) => fieldError(error, 'tags'))

  expect(byZod[0]?.message).toBe(form)
  expect(firstOfEachPlace(byAjv)).toEqual([{ pointer: '/field', detail: form }])
})

test('alternatives are named together, where each is about the whole value', () => {
  const messageOf = (schema: z.ZodType, value: unknown) =>
    schema.safeParse(value, { error: expectedForm }).error?.issues[0]?.message

  expect(messageOf(z.union([z.enum(['a', 'b']), z.int()]), 'c')).toBe('must be one of a, b, or must be an integer')
  expect(messageOf(z.union([z.object({ a: z.int() }), z.object({ b: z.int() })]), {})).toBe('is not valid')
  expect(messageOf(z.union([z.strictObject({}), z.strictObject({ b: z.int().optional() })]), { a: 1 })).toBe(
    'is not valid',
  )
})

test('members that are unknown are named', () => {
  const read = z.strictObject({ a: z.int().optional() }).safeParse({ b: 1, c: 2 }, { error: expectedForm })

  expect(read.error?.issues[0]?.message).toBe('has unknown members: b, c')
})
