import { z } from 'zod'
import { MODEL_TEXT, PLAIN_TEXT } from '../../text/plain-text.js'

export type JsonSchema = { [keyword: string]: unknown }

/** Schemas by name, collected while the document is built; they become its `components/schemas`. */
export type NamedSchemas = Map<string, JsonSchema>

/**
 * A zod schema as JSON Schema 2020-12. A schema with an `id` in its meta is added to `named` and replaced by a
 * reference.
 *
 * @param io `input` for request schemas, `output` for reply schemas
 * @throws Error when two different schemas have the same name
 */
export function toJsonSchema(schema: z.ZodType, io: 'input' | 'output', named: NamedSchemas): JsonSchema {
  // Wrapped in an array, so that the outermost schema becomes a reference too.
  const { items, $defs } = z.toJSONSchema(z.array(schema), {
    target: 'draft-2020-12',
    io,
    override: ({ jsonSchema }) => tidy(jsonSchema as JsonSchema, io),
  }) as { items: JsonSchema; $defs?: Record<string, JsonSchema> }
  for (const [name, definition] of Object.entries($defs ?? {})) {
    const found = asDescribed(definition)
    const known = named.get(name)
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(found)) {
      throw new Error(`two different schemas are named ${name}`)
    }
    named.set(name, found)
  }
  return asDescribed(items)
}

function tidy(schema: JsonSchema, io: 'input' | 'output'): void {
  // Clients ignore unknown members, so that reply schemas are open. Request schemas may be closed.
  if (io === 'output' && schema['additionalProperties'] === false) delete schema['additionalProperties']
  if (isEmpty(schema['additionalProperties'])) schema['additionalProperties'] = true
  if (JSON.stringify(schema['propertyNames']) === '{"type":"string"}') delete schema['propertyNames']
  if (schema['instant'] === true) {
    delete schema['instant']
    schema['format'] = 'date-time'
  }
  if (schema['bytesMax'] !== undefined) {
    schema['x-bytes-max'] = schema['bytesMax']
    delete schema['bytesMax']
  }
}

/**
 * In the tokens that regular expressions of all languages share (JSON Schema Core, section 6.4): elsewhere `\d` has the
 * digits of every script, a bracket in a class begins another one, and a program that lacks a token has no use for the
 * whole schema.
 */
const interoperable = (pattern: string): string =>
  SPELLINGS.reduce((text, [ours, shared]) => text.replaceAll(ours, shared), pattern)
const SPELLINGS = [
  ['(?:', '('],
  ['\\d', '[0-9]'],
  ['\\s', ' '],
  ['\\/', '/'],
  ['[\\]', '\\[\\]'],
] as const

/**
 * Where these tokens cannot say it: JSON texts have no lone surrogates (RFC 8259, section 8.2), and of the characters
 * beyond Latin the pattern of names of models takes some that are no letters, which are then refused.
 */
const PATTERN_OF: ReadonlyMap<string, string> = new Map([
  [PLAIN_TEXT.source, '^[^\\x00-\\x1f\\x7f-\\x9f]*$'],
  [MODEL_TEXT.source, '^[^\\x00-\\x1f!-*,;-?\\[-^`{-\\xa9]*$'],
])

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0

const asDescribed = (schema: JsonSchema): JsonSchema =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'), (name, value: unknown) =>
    name === 'pattern' && typeof value === 'string' ? (PATTERN_OF.get(value) ?? interoperable(value)) : value,
  ) as JsonSchema
