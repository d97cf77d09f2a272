import { z } from 'zod'

export type JsonSchema = { [keyword: string]: unknown }

/** Schemas by their name; filled while a description is made, and its `components/schemas` in the end. */
export type NamedSchemas = Map<string, JsonSchema>

/**
 * A zod schema as JSON Schema 2020-12. One that has an `id` in its meta goes to `named`, and a reference stands for it.
 *
 * @param io which side of the schema: what callers may send, or what they get
 * @throws Error when two different schemas have one name
 */
export function toJsonSchema(schema: z.ZodType, io: 'input' | 'output', named: NamedSchemas): JsonSchema {
  // Within a list, so that also the outermost schema is referred to by its name.
  const { items, $defs } = z.toJSONSchema(z.array(schema), {
    target: 'draft-2020-12',
    io,
    override: ({ jsonSchema }) => tidy(jsonSchema as JsonSchema, io),
  }) as { items: JsonSchema; $defs?: Record<string, JsonSchema> }
  for (const [name, definition] of Object.entries($defs ?? {})) {
    const found = withComponentRefs(definition)
    const known = named.get(name)
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(found)) {
      throw new Error(`two different schemas are called ${name}`)
    }
    named.set(name, found)
  }
  return withComponentRefs(items)
}

function tidy(schema: JsonSchema, io: 'input' | 'output'): void {
  // Callers tolerate members that they do not know (spec 9), so that no answer is closed. A body is where it says so.
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
