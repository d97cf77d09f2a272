import { z } from 'zod'

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
    const found = withComponentRefs(definition)
    const known = named.get(name)
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(found)) {
      throw new Error(`two different schemas are named ${name}`)
    }
    named.set(name, found)
  }
  return withComponentRefs(items)
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

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0

const withComponentRefs = (schema: JsonSchema): JsonSchema =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/')) as JsonSchema
