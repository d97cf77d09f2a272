import { describe, expect, test } from 'vitest'
import { breakages, type Frozen } from '../support/contract/compatibility.js'

const BASE = {
  operations: {
    'POST /things/{id}': {
      id: 'changeThing',
      scope: 'admin:config',
      parameters: {
        'path id': { required: true, schema: { type: 'string' } },
        'query limit': { required: false, schema: { type: 'integer', minimum: 1, maximum: 200 } },
      },
      body: { required: false, contents: { 'application/json': { $ref: '#/components/schemas/Change' } } },
      replies: {
        '200': { headers: ['ETag'], contents: { 'application/json': { $ref: '#/components/schemas/Thing' } } },
      },
    },
  },
  schemas: {
    Change: {
      type: 'object',
      properties: {
        name: { type: 'string', maxLength: 10, pattern: '^a' },
        kind: { type: 'string', enum: ['a', 'b'] },
        size: { anyOf: [{ type: 'integer', minimum: 0 }, { type: 'null' }] },
        tags: { type: 'object', additionalProperties: { type: 'string', maxLength: 5 } },
      },
      required: ['name'],
    },
    Thing: {
      type: 'object',
      properties: {
        state: { type: 'string', enum: ['on', 'off'] },
        list: { type: 'array', items: { $ref: '#/components/schemas/Part' } },
      },
      required: ['state'],
    },
    Part: {
      type: 'object',
      properties: { count: { type: 'integer' }, part: { $ref: '#/components/schemas/Part' } },
      required: ['count'],
    },
  },
  scopes: ['admin:config'],
} satisfies Frozen

// biome-ignore lint/suspicious/noExplicitAny: changed at will
const after = (change: (frozen: any) => void): string[] => {
  const changed = structuredClone(BASE)
  change(changed)
  return breakages(BASE, changed as Frozen)
}
const OPERATION = 'POST /things/{id}'

test('an unchanged API breaks no caller', () => {
  expect(after(() => undefined)).toEqual([])
})

// biome-ignore lint/suspicious/noExplicitAny: changed at will
describe.each<[string, (frozen: any) => void]>([
  ['an operation is gone', (f) => delete f.operations[OPERATION]],
  ['an operation has another id', (f) => (f.operations[OPERATION].id = 'x')],
  ['another scope is needed', (f) => (f.operations[OPERATION].scope = 'read:attribution')],
  ['a scope is gone', (f) => f.scopes.pop()],
  ['a parameter is gone', (f) => delete f.operations[OPERATION].parameters['query limit']],
  ['a parameter is required', (f) => (f.operations[OPERATION].parameters['query limit'].required = true)],
  [
    'a new parameter is required',
    (f) => (f.operations[OPERATION].parameters['query x'] = { required: true, schema: {} }),
  ],
  ['a parameter has a narrower range', (f) => (f.operations[OPERATION].parameters['query limit'].schema.maximum = 100)],
  ['a body is required', (f) => (f.operations[OPERATION].body.required = true)],
  ['a media type is gone', (f) => (f.operations[OPERATION].body.contents = { 'text/csv': {} })],
  ['a field is gone', (f) => delete f.schemas.Change.properties.name],
  [
    'a field is renamed',
    (f) => {
      f.schemas.Thing.properties.status = f.schemas.Thing.properties.state
      delete f.schemas.Thing.properties.state
    },
  ],
  ['a field is retyped', (f) => (f.schemas.Thing.properties.list = { type: 'string' })],
  ['a field within a list is retyped', (f) => (f.schemas.Part.properties.count.type = 'string')],
  ['a field becomes required', (f) => f.schemas.Change.required.push('kind')],
  ['a member of an answer may be absent', (f) => f.schemas.Thing.required.pop()],
  [
    'a member of an answer may be null',
    (f) => (f.schemas.Part.properties.count = { anyOf: [{ type: 'integer' }, { type: 'null' }] }),
  ],
  ['a field may be null no more', (f) => (f.schemas.Change.properties.size = { type: 'integer', minimum: 0 })],
  ['an enumeration of a body loses a member', (f) => f.schemas.Change.properties.kind.enum.pop()],
  ['an enumeration of an answer loses a member', (f) => f.schemas.Thing.properties.state.enum.pop()],
  ['a free text becomes a list', (f) => (f.schemas.Change.properties.name.enum = ['a'])],
  ['a shorter text', (f) => (f.schemas.Change.properties.name.maxLength = 9)],
  ['a new lower bound', (f) => (f.schemas.Change.properties.name.minLength = 1)],
  ['another pattern', (f) => (f.schemas.Change.properties.name.pattern = '^b')],
  ['shorter tags', (f) => (f.schemas.Change.properties.tags.additionalProperties.maxLength = 4)],
  ['a status is gone', (f) => (f.operations[OPERATION].replies = {})],
  ['a header is gone', (f) => f.operations[OPERATION].replies['200'].headers.pop()],
])('%s', (_, change) => {
  test('this change of the API breaks callers', () => {
    expect(after(change)).not.toEqual([])
  })
})

// biome-ignore lint/suspicious/noExplicitAny: changed at will
describe.each<[string, (frozen: any) => void]>([
  ['an operation', (f) => (f.operations['GET /more'] = { ...BASE.operations[OPERATION], id: 'more' })],
  ['a scope', (f) => f.scopes.push('more')],
  ['an optional parameter', (f) => (f.operations[OPERATION].parameters['query x'] = { required: false, schema: {} })],
  ['an optional field', (f) => (f.schemas.Change.properties.more = { type: 'string' })],
  [
    'a member of an answer',
    (f) => {
      f.schemas.Thing.properties.more = { type: 'string' }
      f.schemas.Thing.required.push('more')
    },
  ],
  ['a member of an enumeration', (f) => f.schemas.Thing.properties.state.enum.push('new')],
  ['a longer text', (f) => (f.schemas.Change.properties.name.maxLength = 11)],
  ['a body without a bound', (f) => delete f.schemas.Change.properties.name.maxLength],
  [
    'null where a value was needed',
    (f) => (f.schemas.Change.properties.kind = { anyOf: [{ type: 'string', enum: ['a', 'b'] }, { type: 'null' }] }),
  ],
  ['a field that is needed no more', (f) => f.schemas.Change.required.pop()],
  ['a status', (f) => (f.operations[OPERATION].replies['202'] = { headers: [], contents: {} })],
  ['a header', (f) => f.operations[OPERATION].replies['200'].headers.push('Link')],
])('%s more', (_, change) => {
  test('this change of the API breaks no caller', () => {
    expect(after(change)).toEqual([])
  })
})
