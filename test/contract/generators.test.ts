import { expect, test } from 'vitest'
import { describeApi } from '../../cmd/gateway/description.js'
import { readDescription, type Schema } from '../support/contract/described.js'
import { typeNames } from '../support/contract/type-names.js'

/**
 * What generators of clients, and validators in other languages, need of the whole description. The programs themselves
 * are run by `test/conformance/openapi/`.
 */

const raw = JSON.parse(JSON.stringify(await describeApi())) as Schema
const described = readDescription(raw)

/** Every object of the description, with its place. */
function* objectsIn(node: unknown, place = ''): Generator<readonly [string, Schema]> {
  if (typeof node !== 'object' || node === null) return
  if (!Array.isArray(node)) yield [place, node as Schema]
  for (const [name, inner] of Object.entries(node)) yield* objectsIn(inner, `${place}/${name}`)
}
const objects = [...objectsIn(raw)]

/**
 * The tokens of JSON Schema Core, section 6.4, with escapes of what would be a token, and of control characters: Go and
 * PHP know only this form of them. No `[` in a class, which begins another one in Java and Rust.
 */
const SHARED = (() => {
  const escaped = String.raw`\\(?:[!-\/:-@\[-\x60{-~]|x[0-9a-f]{2})`
  const inClass = String.raw`(?:[^\\\[\]]|${escaped})`
  const token = String.raw`(?:[^\\\[\](){}*+?|.^$]|${escaped}|\[\^?${inClass}+\])`
  return new RegExp(String.raw`^\^?(?:(?:${token}|\((?!\?)|\))(?:[*+?]|\{\d+(?:,\d*)?\})?|\|)*\$?$`)
})()

test('patterns have no token that an engine of regular expressions lacks, or reads in another way', () => {
  const patterns = new Set(objects.map(([, { pattern }]) => pattern).filter((each) => typeof each === 'string'))

  expect(patterns.size).toBeGreaterThan(30)
  expect([...patterns].filter((pattern) => !SHARED.test(pattern))).toEqual([])
  for (const odd of ['\\d', '\\w', '\\p{L}', '(?:a)', '(?=a)', '[[a]]', '\\u0041', '\\ud800', '[\\s]', 'a\\b'])
    expect(SHARED.test(odd), odd).toBe(false)
})

test('no two schemas, operations or parts of a client have one name in the casing of a language', () => {
  const twice = [...typeNames(described)].filter(([, places]) => places.size > 1)

  expect(twice.map(([name, places]) => [name, ...places])).toEqual([])
})

test('two names that differ in case or marks are found, also of what stands in a schema', () => {
  const inner: Schema = { type: 'string', enum: ['a', 'b'] }
  const schemas = { Budget: { type: 'object', properties: { a_period: inner } }, BudgetAperiod: {}, client: {} }

  const names = typeNames({ ...described, schemas, operations: [], raw: { components: {} } })

  expect(names.get('budgetaperiod')).toEqual(new Set(['Budget.a_period', 'BudgetAperiod']))
  expect(names.get('client')).toEqual(new Set(['the client', 'client']))
})

test('each error has the type of all errors of its kind, and the codes beside it', () => {
  const problems = objects.filter(
    ([place]) => place.endsWith('/application~problem+json') || place.endsWith('problem+json'),
  )
  const types = new Set(problems.map(([, { schema }]) => (schema as Schema)['$ref']))

  expect([...types].sort()).toEqual(
    ['OAuthProblem', 'Problem', 'ReadinessProblem'].map((name) => `#/components/schemas/${name}`),
  )
  const withoutCodes = described.operations.flatMap(({ id, responses }) =>
    [...responses].filter(([status, { errorCodes }]) => status >= 400 !== errorCodes.length > 0).map(() => id),
  )
  expect(withoutCodes).toEqual([])
})

test('a body that is a choice has a name', () => {
  const choices = described.operations.filter(({ body }) =>
    [...(body?.contents.values() ?? [])].some((schema) => 'anyOf' in schema || 'oneOf' in schema),
  )

  expect(choices.map(({ id }) => id)).toEqual([])
})

test('what is narrowed to a value or a list says its type', () => {
  const untyped = objects.filter(
    ([, schema]) => ('const' in schema || Array.isArray(schema['enum'])) && !('type' in schema),
  )

  expect(untyped.map(([place]) => place).filter((place) => !place.includes('/example'))).toEqual([])
})
