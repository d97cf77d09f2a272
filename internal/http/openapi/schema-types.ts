import type { JsonSchema } from './json-schema.js'

/*
 * The schemas of `/openapi.json` as types of TypeScript. By hand: openapi-typescript needs the programming interface of
 * TypeScript 5, which the compiler of this project no longer has.
 */

/** The text of a file that exports one type per schema. */
export function typesOf(schemas: Readonly<Record<string, JsonSchema>>): string {
  const types = inOrder(Object.keys(schemas)).map((name) => {
    const schema = schemas[name] as JsonSchema
    const shown = typeOf(schema, '')
    const isObject = schema['properties'] !== undefined
    const declared = isObject ? `export interface ${name} ${shown}` : `export type ${name} = ${shown}`
    return `${commentOf(schema, '')}${declared}\n`
  })
  return `${HEAD}\n${types.join('\n')}`
}

/**
 * A name that ends with another follows it, as `PartnerInvocationEvent` does `InvocationEvent`: they are alike, and the
 * archive of the client library shortens only what it had within 32 KB.
 */
function inOrder(names: readonly string[], base?: string): readonly string[] {
  const baseOf = (name: string) => names.find((other) => other !== name && name.endsWith(other))
  return names.filter((name) => baseOf(name) === base).flatMap((name) => [name, ...inOrder(names, name)])
}

const HEAD = `/** Written from the schemas of \`/openapi.json\` at each build. */
`

function typeOf(schema: JsonSchema, indent: string): string {
  const { $ref, const: only, enum: values, anyOf, oneOf, allOf, type, items } = schema
  if (typeof $ref === 'string') return $ref.replace('#/components/schemas/', '')
  if (only !== undefined) return literal(only)
  if (Array.isArray(values)) return values.map(literal).join(' | ')
  const choices = (anyOf ?? oneOf) as readonly JsonSchema[] | undefined
  // What stands beside choices narrows them: types have no words for most of it.
  if (choices !== undefined && type === undefined)
    return unique(choices.map((each) => typeOf(each, indent))).join(' | ')
  if (Array.isArray(allOf) && type === undefined)
    return allOf.map((each: JsonSchema) => `(${typeOf(each, indent)})`).join(' & ')
  if (Array.isArray(type)) return type.map((each) => typeOf({ ...schema, type: each }, indent)).join(' | ')
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
      return type
    case 'integer':
    case 'number':
      return 'number'
    case 'array':
      return items === undefined ? 'readonly unknown[]' : listOf(typeOf(items as JsonSchema, indent))
    case 'object':
      return objectOf(schema, indent)
    default:
      return 'unknown'
  }
}

function objectOf({ properties, required, additionalProperties }: JsonSchema, indent: string): string {
  if (properties === undefined) {
    const values =
      typeof additionalProperties === 'object' ? typeOf(additionalProperties as JsonSchema, indent) : 'unknown'
    return `{ readonly [name: string]: ${values} }`
  }
  const needed = new Set((required ?? []) as readonly string[])
  const inner = `${indent}  `
  const members = Object.entries(properties as Record<string, JsonSchema>).map(([name, schema]) => {
    const isNeeded = needed.has(name)
    const key = /^[A-Za-z_]\w*$/.test(name) ? name : literal(name)
    const shown = typeOf(schema, inner)
    const member = isNeeded ? `${key}: ${shown}` : `${key}?: ${shown} | undefined`
    return `${commentOf(schema, inner)}${inner}readonly ${member}\n`
  })
  return `{\n${members.join('')}${indent}}`
}

const listOf = (type: string): string => (/^\w+$/.test(type) ? `readonly ${type}[]` : `ReadonlyArray<${type}>`)

const literal = (value: unknown): string =>
  typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : JSON.stringify(value)

const unique = (types: readonly string[]): readonly string[] => [...new Set(types)]

const commentOf = ({ description }: JsonSchema, indent: string): string =>
  typeof description === 'string' ? `${indent}/** ${description.replaceAll('*/', '*\\/')} */\n` : ''
