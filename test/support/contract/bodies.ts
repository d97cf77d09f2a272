/** What the bodies of a description accept beside their described members. */
import type { Described, DescribedOperation, Json, Schema } from './described.js'

/** Objects in the JSON bodies of requests that accept members other than those described: operation id and place. */
export function openObjects(described: Described): (readonly [id: string, place: string])[] {
  const found: (readonly [string, string])[] = []
  for (const { id, body } of described.operations) {
    for (const [mediaType, schema] of body?.contents ?? []) {
      for (const place of openPlaces(schema, described.schemas, mediaType, new Set())) found.push([id, place])
    }
  }
  return found
}

const UNIONS = ['anyOf', 'oneOf', 'allOf'] as const

function openPlaces(
  reference: Schema,
  schemas: Described['schemas'],
  place: string,
  seen: ReadonlySet<string>,
): readonly string[] {
  const name = reference['$ref']
  if (typeof name === 'string') {
    const definition = schemas[name.replace('#/components/schemas/', '')]
    if (definition === undefined || seen.has(name)) return []
    return openPlaces(definition, schemas, place, new Set([...seen, name]))
  }
  const inside = (schema: Json | undefined, more: string): readonly string[] =>
    isSchema(schema) ? openPlaces(schema, schemas, `${place}${more}`, seen) : []
  const properties = isSchema(reference['properties']) ? reference['properties'] : {}
  const others = reference['additionalProperties']
  // An object whose keys the caller chooses has one schema for all of its values.
  const isOpen =
    reference['type'] === 'object' && others !== false && !(isSchema(others) && Object.keys(others).length > 0)
  return [
    ...(isOpen ? [place] : []),
    ...Object.entries(properties).flatMap(([key, schema]) => inside(schema, `/${key}`)),
    ...inside(reference['items'], '/0'),
    ...inside(others, '/*'),
    ...UNIONS.flatMap((union) => ((reference[union] ?? []) as readonly Json[]).flatMap((one) => inside(one, ''))),
  ]
}

const isSchema = (value: Json | undefined): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The example body of an operation; an empty object for one without a body. */
export function exampleOf({ raw }: Described, { method, path }: DescribedOperation): Json {
  // biome-ignore lint/suspicious/noExplicitAny: the document is described by its readers
  const operation = (raw['paths'] as any)[path][method.toLowerCase()]
  return (operation.requestBody?.content['application/json'].example as Json | undefined) ?? {}
}

/** The body once per object in it, with one more member there, and the pointer to that member. */
export function withUnknownMember(body: Json, member: string): (readonly [pointer: string, body: Json])[] {
  if (typeof body !== 'object' || body === null) return []
  const own = Array.isArray(body) ? [] : [[`/${member}`, { ...body, [member]: 1 }] as const]
  const nested = Object.entries(body).flatMap(([key, inner]) =>
    withUnknownMember(inner as Json, member).map(([pointer, changed]) => {
      const whole: Json = Array.isArray(body)
        ? body.map((each, index): Json => (String(index) === key ? changed : each))
        : { ...(body as { readonly [name: string]: Json }), [key]: changed }
      return [`/${key}${pointer}`, whole] as const
    }),
  )
  return [...own, ...nested]
}
