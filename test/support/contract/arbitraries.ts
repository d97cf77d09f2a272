/** Arbitraries of values that match a JSON Schema, and of values that do not. */
import fc from 'fast-check'
import type { Described, Json, Schema } from './described.js'

/** Text planted where content is rejected; it must never appear in a reply. */
export const PLANTED = 'the-quick-brown-fox'

type Make = (schema: Schema) => fc.Arbitrary<Json>

/** Fields left out because they would lower the limits of the instance under test, which would slow the tests down. */
const LEFT_OUT: Readonly<Record<string, string>> = { SettingsPatch: 'rate_limits' }

function withoutLeftOut(name: string, schema: Schema): Schema {
  const { [LEFT_OUT[name] ?? '']: _, ...properties } = (schema['properties'] ?? {}) as Readonly<Record<string, Json>>
  return name in LEFT_OUT ? { ...schema, properties } : schema
}

/** @returns makes the arbitrary of values that match a schema of the description */
export function valuesOf({ schemas }: Described): Make {
  const known = new Map<string, fc.Arbitrary<Json>>()
  const named = (name: string): fc.Arbitrary<Json> => {
    const found = known.get(name) ?? make(withoutLeftOut(name, schemas[name] ?? {}))
    known.set(name, found)
    return found
  }
  const unnamed = new Map<Schema, fc.Arbitrary<Json>>()
  const make: Make = (schema) => {
    const reference = schema['$ref']
    if (typeof reference === 'string') return named(reference.replace('#/components/schemas/', ''))
    const found = unnamed.get(schema) ?? makeUnnamed(schema)
    unnamed.set(schema, found)
    return found
  }
  const makeUnnamed: Make = (schema) => {
    if (schema['const'] !== undefined) return fc.constant(schema['const'])
    const members = schema['enum'] as readonly Json[] | undefined
    if (members !== undefined) return fc.constantFrom(...members)
    const alternatives = (schema['anyOf'] ?? schema['oneOf']) as readonly Schema[] | undefined
    if (alternatives !== undefined) return fc.oneof(...alternatives.map(make))
    const { type } = schema
    if (Array.isArray(type)) return fc.oneof(...type.map((one: Json) => make({ ...schema, type: one })))
    switch (type) {
      case 'null':
        return fc.constant(null)
      case 'boolean':
        return fc.boolean()
      case 'integer':
        return fc.integer(boundsOf(schema))
      case 'number':
        return fc.double({ ...boundsOf(schema), noNaN: true, noDefaultInfinity: true })
      case 'string':
        return textOf(schema)
      case 'array':
        return fc.array(make((schema['items'] ?? {}) as Schema), {
          minLength: Number(schema['minItems'] ?? 0),
          maxLength: 5,
        })
      case 'object':
        return objectOf(schema, make)
      default:
        return fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>
    }
  }
  return make
}

const boundsOf = (schema: Schema): { min: number; max: number } => ({
  min: Number(schema['minimum'] ?? schema['exclusiveMinimum'] ?? 0),
  max: Math.min(Number(schema['maximum'] ?? 2 ** 31 - 1), Number.MAX_SAFE_INTEGER),
})

function textOf(schema: Schema): fc.Arbitrary<string> {
  const { pattern, format } = schema
  const maxLength = Math.min(Number(schema['maxLength'] ?? 40), 300)
  const minLength = Number(schema['minLength'] ?? 0)
  if (format === 'date-time') return recentTimes()
  const examples = schema['examples'] as readonly string[] | undefined
  const { examples: _, ...rest } = schema
  if (examples !== undefined) {
    // The schema does not describe the whole format: most texts that match it are invalid.
    return fc.oneof({ arbitrary: fc.constantFrom(...examples), weight: 4 }, { arbitrary: textOf(rest), weight: 1 })
  }
  // Names of models: letters, which the pattern cannot say of those beyond Latin.
  if (typeof pattern === 'string' && pattern.includes('\\xa9')) {
    return fc.string({
      unit: fc.constantFrom(...'abcXYZ 019-_./:@+é語'),
      minLength,
      maxLength: Math.min(maxLength, 80),
    })
  }
  // A pattern that only excludes characters is matched by any plain text.
  if (typeof pattern === 'string' && !pattern.startsWith('^[^\\x00')) return fc.stringMatching(new RegExp(pattern))
  const bytesMax = Number(schema['x-bytes-max'] ?? Number.POSITIVE_INFINITY)
  return fc
    .string({ unit: fc.constantFrom(...'abcXYZ 019-_./:@é€😀'), minLength, maxLength })
    .filter((text) => Buffer.byteLength(text) <= bytesMax && [...text].length <= maxLength && text.length <= maxLength)
}

/** Valid event times. */
const recentTimes = (): fc.Arbitrary<string> =>
  fc
    .date({ min: new Date('2026-01-01T00:00:00Z'), max: new Date(), noInvalidDate: true })
    .map((date) => date.toISOString())

function objectOf(schema: Schema, make: Make): fc.Arbitrary<Json> {
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, Schema>>
  const required = (schema['required'] ?? []) as readonly string[]
  const own = fc.record(Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, make(inner)])), {
    requiredKeys: [...required],
  })
  const more = schema['additionalProperties']
  if (more === undefined || more === false || Object.keys(properties).length > 0) return own as fc.Arbitrary<Json>
  const names = schema['propertyNames'] as Schema | undefined
  const keys = names === undefined ? fc.stringMatching(/^[a-z]{1,8}_x$/) : textOf(names)
  const values = make(more === true ? { type: 'string', maxLength: 64 } : (more as Schema))
  return fc.dictionary(keys, values, { maxKeys: Number(schema['maxProperties'] ?? 4) }) as fc.Arbitrary<Json>
}

/** Values like those of `values`, but usually wrong in one place. */
export function spoilt(values: fc.Arbitrary<Json>): fc.Arbitrary<Json> {
  const others = fc.oneof(
    fc.constantFrom<Json>(null, true, -1, 0.5, 1e21, '', 'x', [], {}, '\u0000', 'x'.repeat(2_000), [[[[]]]]),
    fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>,
  )
  return fc.oneof(
    { arbitrary: others, weight: 1 },
    {
      arbitrary: fc.tuple(values, fc.nat(), others).map(([value, at, other]) => withOneField(value, at, other)),
      weight: 4,
    },
    { arbitrary: fc.tuple(values, fc.nat()).map(([value, at]) => withOneField(value, at, undefined)), weight: 2 },
    {
      arbitrary: fc
        .tuple(values, fc.constantFrom('prompt', 'messages', 'systemPrompt', 'tool_calls', 'Content'))
        .map(([value, key]) => (isRecord(value) ? { ...value, [key]: PLANTED } : value)),
      weight: 1,
    },
  )
}

const isRecord = (value: Json): value is { readonly [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** One member replaced or removed. */
function withOneField(value: Json, at: number, other: Json | undefined): Json {
  if (Array.isArray(value)) {
    const [first, ...rest] = value as readonly Json[]
    return first === undefined ? (other ?? null) : [withOneField(first, at, other), ...rest]
  }
  if (!isRecord(value)) return other ?? null
  const names = Object.keys(value)
  const name = names[at % Math.max(1, names.length)]
  if (name === undefined) return other === undefined ? {} : { x: other }
  const { [name]: _, ...rest } = value
  return other === undefined ? rest : { ...rest, [name]: other }
}
