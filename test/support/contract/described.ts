/** A served OpenAPI description as the tests read it: operations with all references resolved. */
import { Ajv2020 } from 'ajv/dist/2020.js'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }
export interface Schema {
  readonly [keyword: string]: Json
}

export interface DescribedResponse {
  readonly headers: Readonly<Record<string, { readonly required: boolean; readonly schema: Schema }>>
  /** By media type; empty when there is no body. */
  readonly contents: ReadonlyMap<string, Schema>
  /** Empty for a success. */
  readonly errorCodes: readonly string[]
}

export interface DescribedParameter {
  readonly name: string
  readonly place: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly schema: Schema
}

export interface DescribedOperation {
  readonly id: string
  /** In upper case. */
  readonly method: string
  /** With `{name}` for a parameter. */
  readonly path: string
  readonly parameters: readonly DescribedParameter[]
  /** By media type; undefined when the operation accepts no body. */
  readonly body: { readonly required: boolean; readonly contents: ReadonlyMap<string, Schema> } | undefined
  readonly responses: ReadonlyMap<number, DescribedResponse>
  /** Undefined for a public operation; null when any scope is enough; alternatives are joined by ` or `. */
  readonly scope: string | null | undefined
  readonly rateClass: string | undefined
  /** Whether it accepts only tokens of partners. */
  readonly isForPartners: boolean
}

export interface Described {
  readonly operations: readonly DescribedOperation[]
  readonly scopes: readonly string[]
  readonly schemas: Readonly<Record<string, Schema>>
  readonly raw: Schema
}

// biome-ignore lint/suspicious/noExplicitAny: only this module parses the untyped document
type Any = any

/** @param security alternatives of one scope each, or without any */
function scopeOf(security: Any): string | null {
  const scopes: string[] = security.flatMap((alternative: Any) => Object.values(alternative).flat())
  return scopes.length === 0 ? null : [...new Set(scopes)].join(' or ')
}

export function readDescription(raw: Any): Described {
  const resolve = (node: Any): Any =>
    typeof node?.$ref === 'string'
      ? node.$ref
          .slice(2)
          .split('/')
          .reduce((at: Any, name: string) => at[name], raw)
      : node
  const contentsOf = (content: Any): ReadonlyMap<string, Schema> =>
    new Map(Object.entries(content ?? {}).map(([mediaType, { schema }]: [string, Any]) => [mediaType, schema]))

  const operations = Object.entries(raw.paths).flatMap(([path, item]: [string, Any]) =>
    Object.entries(item).map(([method, operation]: [string, Any]): DescribedOperation => {
      const [first] = operation.security
      return {
        id: operation.operationId,
        method: method.toUpperCase(),
        path,
        parameters: (operation.parameters ?? []).map(resolve).map((parameter: Any) => ({
          name: parameter.name,
          place: parameter.in,
          required: parameter.required === true,
          schema: parameter.schema,
        })),
        body: operation.requestBody && {
          required: operation.requestBody.required === true,
          contents: contentsOf(operation.requestBody.content),
        },
        responses: new Map(
          Object.entries(operation.responses).map(([status, reference]) => {
            const response = resolve(reference)
            const headers = Object.entries(response.headers ?? {}).map(([name, header]) => {
              const { required, schema } = resolve(header)
              return [name, { required: required === true, schema }]
            })
            const contents = contentsOf(response.content)
            const errorCodes = response['x-error-codes'] ?? []
            return [Number(status), { headers: Object.fromEntries(headers), contents, errorCodes }]
          }),
        ),
        scope: first === undefined ? undefined : scopeOf(operation.security),
        rateClass: operation['x-rate-class'],
        isForPartners: first !== undefined && 'partner' in first,
      }
    }),
  )
  return {
    operations,
    scopes: Object.keys(raw.components.securitySchemes.oauth2.flows.clientCredentials.scopes),
    schemas: raw.components.schemas,
    raw,
  }
}

export type Check = (value: unknown) => string | undefined

/**
 * Compiles schemas of a description.
 *
 * @param isStrict whether objects may have only described members: clients must tolerate others, but we must not send
 * any
 * @returns a check that returns the fault, undefined when there is none
 */
export function schemaChecker({ schemas }: Described, isStrict: boolean): (schema: Schema) => Check {
  const ajv = new Ajv2020({ strict: false, allErrors: false })
  ajv.addFormat('date-time', /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/)
  const root = 'api'
  /** By the schema and, since most of them are the same in several places, by its text. */
  const compiled = new Map<Schema | string, Check>()
  const all = { $id: root, components: { schemas: isStrict ? closed(schemas) : schemas } }
  ajv.addSchema(all)
  const compile = (text: string): Check => {
    const validate = ajv.compile(JSON.parse(text) as Schema)
    return (value) => (validate(value) ? undefined : ajv.errorsText(validate.errors))
  }
  return (schema) => {
    let check = compiled.get(schema)
    if (check === undefined) {
      const text = JSON.stringify(isStrict ? closed(schema) : schema).replaceAll(
        '"#/components/',
        `"${root}#/components/`,
      )
      check = compiled.get(text) ?? compile(text)
      compiled.set(schema, check)
      compiled.set(text, check)
    }
    return check
  }
}

/** The same schema, in which every object with properties allows no others. */
function closed(node: Any): Any {
  if (Array.isArray(node)) return node.map(closed)
  if (typeof node !== 'object' || node === null) return node
  const inner = Object.fromEntries(Object.entries(node).map(([name, value]) => [name, closed(value)]))
  const isShut = node.type === 'object' && node.properties !== undefined && node.additionalProperties === undefined
  return isShut ? { ...inner, additionalProperties: false } : inner
}
