/** The names of types that generators of clients make of a description: of schemas, of what stands in them, of operations. */
import type { Described, Json, Schema } from './described.js'

/** What clients have of their own: oapi-codegen (Go), openapi-python-client, OpenAPI Generator (Java). */
const OF_CLIENTS = [
  ...['Client', 'NewClient', 'ClientInterface', 'ClientOption', 'ClientWithResponses', 'NewClientWithResponses'],
  ...['ClientWithResponsesInterface', 'HttpRequestDoer', 'RequestEditorFn', 'WithHTTPClient', 'WithRequestEditorFn'],
  ...['WithBaseURL', 'AuthenticatedClient', 'Response', 'Unset', 'File', 'Configuration', 'Options', 'Config'],
  ...['ApiClient', 'ApiException', 'ApiResponse', 'Pair', 'Object', 'String', 'Error', 'Exception', 'Optional', 'Map'],
  ...['List', 'Set', 'Enum', 'Any', 'Literal', 'Request', 'Date', 'Record', 'Array', 'Promise', 'Function', 'Symbol'],
]

/** Around the name of an operation. */
const OF_OPERATIONS = [
  ...[
    '*',
    '*Params',
    '*JSONBody',
    '*JSONRequestBody',
    '*Body',
    '*JsonBody',
    '*Request',
    '*Response',
    '*Data',
    '*Error',
  ],
  ...['*Errors', '*Responses', '*RequestObject', '*ResponseObject', '*200JSONResponse', '*200Response', '*WithBody'],
  ...['*WithResponse', '*WithBodyWithResponse', 'New*Request', 'New*RequestWithBody', 'Parse*Response', '*Options'],
]

/** In the casing that Go, Java and classes of Python have: words without what stands between them. */
const pascal = (text: string): string =>
  text
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('')

/**
 * @returns the places that give each name, without regard to case: files of Java and modules of Python are named by it
 */
export function typeNames({ schemas, operations, raw }: Described): ReadonlyMap<string, ReadonlySet<string>> {
  const names = new Map<string, Set<string>>()
  const give = (name: string, place: string): void => {
    const places = names.get(name.toLowerCase()) ?? new Set()
    names.set(name.toLowerCase(), places.add(place))
  }
  /** What stands in a schema, or in a parameter or body, is named by where it stands. */
  const giveInner = (schema: Schema, name: string, place: string): void => {
    for (const [step, word, inner] of innerSchemas(schema)) {
      if ('$ref' in inner) continue
      if (isNamed(inner)) give(name + word, place + step)
      giveInner(inner, name + word, place + step)
    }
  }

  for (const name of OF_CLIENTS) give(name, 'the client')
  for (const [name, schema] of Object.entries(schemas)) {
    give(pascal(name), name)
    giveInner(schema, pascal(name), name)
  }
  for (const [kind, components] of Object.entries(raw['components'] as Schema)) {
    if (kind === 'responses' || kind === 'parameters')
      for (const name of Object.keys(components as object)) give(pascal(name), `${kind} ${name}`)
  }
  for (const { id, parameters, body, responses } of operations) {
    for (const form of OF_OPERATIONS) give(form.replace('*', pascal(id)), id)
    for (const { name, schema } of parameters)
      giveInner({ items: schema }, pascal(`${id} params ${name}`), `${id} ${name}`)
    for (const schema of body?.contents.values() ?? []) giveInner(schema, pascal(`${id} body`), id)
    for (const [status, { contents }] of responses)
      for (const schema of contents.values()) giveInner(schema, pascal(`${id} response ${status}`), id)
  }
  return names
}

/** Objects and closed lists get a type of their own. */
const isNamed = (schema: Schema): boolean =>
  'properties' in schema || (Array.isArray(schema['enum']) && schema['enum'].length > 1)

type Inner = readonly [step: string, word: string, schema: Schema]

function innerSchemas(schema: Schema): readonly Inner[] {
  const found: Inner[] = Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, Schema>>).map(
    ([name, inner]) => [`.${name}`, pascal(name), inner],
  )
  const more = (inner: Json | undefined, step: string, word: string): void => {
    if (typeof inner === 'object' && inner !== null) found.push([step, word, inner as Schema])
  }
  more(schema['items'], '[]', 'items' in schema && 'type' in schema ? 'Item' : '')
  more(schema['additionalProperties'], '{}', 'AdditionalProperty')
  for (const union of ['anyOf', 'oneOf', 'allOf']) {
    const choices = ((schema[union] ?? []) as readonly Schema[]).filter(({ type }) => type !== 'null')
    for (const [i, choice] of choices.entries()) more(choice, `|${i}`, choices.length === 1 ? '' : String(i))
  }
  return found
}
