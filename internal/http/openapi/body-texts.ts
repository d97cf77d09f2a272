import type { JsonSchema, NamedSchemas } from './json-schema.js'

type Members = Readonly<Record<string, JsonSchema>>

/** A member of a body that has no description means what the member of the answer does that has its name. */
export function describeBodies(operations: Iterable<object>, schemas: NamedSchemas): void {
  const membersOf = (holder: unknown): Members => {
    const { $ref, properties } = schemaOf(holder)
    const named = typeof $ref === 'string' ? schemas.get($ref.replace('#/components/schemas/', '')) : undefined
    return ((named?.['properties'] ?? properties) as Members | undefined) ?? {}
  }
  for (const { requestBody, responses } of operations as Iterable<JsonSchema>) {
    const [, success] = Object.entries(responses as object).find(([status]) => status < '300') ?? []
    const answered = membersOf(success)
    for (const [name, member] of Object.entries(membersOf(requestBody))) {
      const text = answered[name]?.['description']
      if (text !== undefined && member['$ref'] === undefined) member['description'] ??= text
    }
  }
}

const schemaOf = (holder: unknown): JsonSchema =>
  (holder as { content?: Record<string, { schema?: JsonSchema }> } | undefined)?.content?.['application/json']
    ?.schema ?? {}
