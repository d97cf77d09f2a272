/**
 * The part of the contract that is frozen within a major version, and a check of it: nothing may be removed, renamed,
 * retyped or narrowed, and no enumeration may lose a member. Additions are allowed.
 */
import type { Described, DescribedOperation, Schema } from './described.js'

export interface FrozenOperation {
  readonly id: string
  readonly scope: string | null
  readonly parameters: Readonly<Record<string, { readonly required: boolean; readonly schema: Schema }>>
  readonly body?: { readonly required: boolean; readonly contents: Readonly<Record<string, Schema>> }
  /** Success replies only: the problems of an operation can change, but not their format. */
  readonly replies: Readonly<Record<string, FrozenReply>>
}

interface FrozenReply {
  readonly headers: readonly string[]
  readonly contents: Readonly<Record<string, Schema>>
}

export interface Frozen {
  readonly operations: Readonly<Record<string, FrozenOperation>>
  readonly schemas: Readonly<Record<string, Schema>>
  readonly scopes: readonly string[]
}

/** The frozen part of a description, without its texts. */
export function frozenPartOf({ operations, schemas, scopes }: Described): Frozen {
  return {
    operations: Object.fromEntries(
      operations.map((operation) => [`${operation.method} ${operation.path}`, freeze(operation)]),
    ),
    schemas: plain(schemas) as Frozen['schemas'],
    scopes,
  }
}

function freeze({ id, scope, parameters, body, responses }: DescribedOperation): FrozenOperation {
  const contentsOf = (contents: ReadonlyMap<string, Schema>) =>
    plain(Object.fromEntries(contents)) as Record<string, Schema>
  const replies = [...responses]
    .filter(([status]) => status < 400)
    .map(([status, reply]) => [
      status,
      { headers: Object.keys(reply.headers).sort(), contents: contentsOf(reply.contents) },
    ])
  return {
    id,
    scope: scope === undefined ? 'public' : scope,
    parameters: Object.fromEntries(
      parameters.map(({ place, name, required, schema }) => [
        `${place} ${name}`,
        { required, schema: plain(schema) as Schema },
      ]),
    ),
    ...(body && { body: { required: body.required, contents: contentsOf(body.contents) } }),
    replies: Object.fromEntries(replies),
  }
}

const WORDS = new Set(['description', 'examples', 'example', 'title', 'default'])

/** Removes texts for people, but keeps properties with the same names. */
function plain(node: unknown, isProperties = false): unknown {
  if (Array.isArray(node)) return node.map((inner) => plain(inner))
  if (typeof node !== 'object' || node === null) return node
  return Object.fromEntries(
    Object.entries(node)
      .filter(([name]) => isProperties || !WORDS.has(name))
      .map(([name, inner]) => [name, plain(inner, !isProperties && name === 'properties')]),
  )
}

/** @returns the changes that break callers of the baseline, each with its location */
export function breakages(baseline: Frozen, current: Frozen): string[] {
  const found: string[] = []
  const compare = schemaComparison(baseline.schemas, current.schemas, (what) => found.push(what))
  for (const scope of baseline.scopes) if (!current.scopes.includes(scope)) found.push(`scope ${scope} was removed`)
  for (const [name, schema] of Object.entries(baseline.schemas)) {
    if (current.schemas[name] === undefined) found.push(`schema ${name} was removed`)
    else if (name === 'Problem') compare(schema, current.schemas[name], 'reply', name)
  }
  for (const [name, before] of Object.entries(baseline.operations)) {
    const now = current.operations[name]
    if (now === undefined) found.push(`${name} was removed`)
    else found.push(...operationBreakages(name, before, now, compare))
  }
  return [...new Set(found)]
}

type Compare = (before: Schema, now: Schema, side: Side, place: string) => void

function operationBreakages(name: string, before: FrozenOperation, now: FrozenOperation, compare: Compare): string[] {
  const found: string[] = []
  if (before.id !== now.id) found.push(`${name} was ${before.id} and is ${now.id}`)
  if (before.scope !== now.scope && now.scope !== 'public') found.push(`${name} asks for another scope`)

  for (const [parameter, { required, schema }] of Object.entries(before.parameters)) {
    const other = now.parameters[parameter]
    if (other === undefined) found.push(`${name}: ${parameter} was removed`)
    else if (other.required && !required) found.push(`${name}: ${parameter} is required now`)
    else compare(schema, other.schema, 'request', `${name}: ${parameter}`)
  }
  for (const [parameter, { required }] of Object.entries(now.parameters)) {
    if (required && before.parameters[parameter] === undefined) found.push(`${name}: ${parameter} is required now`)
  }
  for (const [mediaType, schema] of Object.entries(before.body?.contents ?? {})) {
    const other = now.body?.contents[mediaType]
    if (other === undefined) found.push(`${name}: takes no ${mediaType} any more`)
    else compare(schema, other, 'request', `${name}: body`)
  }
  if (now.body?.required === true && before.body?.required !== true) found.push(`${name}: needs a body now`)

  for (const [status, reply] of Object.entries(before.replies)) {
    const other = now.replies[status]
    if (other === undefined) found.push(`${name}: answers ${status} no more`)
    for (const header of reply.headers) {
      if (other !== undefined && !other.headers.includes(header)) found.push(`${name}: ${status} has no ${header}`)
    }
    for (const [mediaType, schema] of Object.entries(reply.contents)) {
      const content = other?.contents[mediaType]
      if (other !== undefined && content === undefined) found.push(`${name}: ${status} is no ${mediaType}`)
      else if (content !== undefined) compare(schema, content, 'reply', `${name}: ${status}`)
    }
  }
  return found
}

/** Whether callers send or receive it: a wider type is an addition in a request and a break in an answer. */
type Side = 'request' | 'reply'

const LOWER_BOUNDS = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']
const UPPER_BOUNDS = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties', 'x-bytes-max']
const EXACT = ['pattern', 'format', 'multipleOf']

function schemaComparison(
  schemasBefore: Frozen['schemas'],
  schemasNow: Frozen['schemas'],
  report: (what: string) => void,
): Compare {
  const done = new Set<string>()
  const resolve = (schema: Schema, schemas: Frozen['schemas']): Schema => {
    const reference = schema['$ref']
    return typeof reference === 'string' ? (schemas[reference.replace('#/components/schemas/', '')] ?? {}) : schema
  }
  const matches = (before: Schema, now: Schema, side: Side): boolean => {
    let isMatch = true
    schemaComparison(schemasBefore, schemasNow, () => {
      isMatch = false
    })(before, now, side, '')
    return isMatch
  }

  const compare: Compare = (reference, otherReference, side, place) => {
    const pair = `${String(reference['$ref'])} ${String(otherReference['$ref'])} ${side}`
    if (reference['$ref'] !== undefined && done.has(pair)) return
    done.add(pair)
    const before = resolve(reference, schemasBefore)
    const now = resolve(otherReference, schemasNow)

    const alternatives = alternativesOf(before)
    const others = alternativesOf(now)
    if (alternatives.length > 1 || others.length > 1) {
      const lost = alternatives.some((one) => !others.some((other) => matches(one, other, side)))
      const isWider = others.some((other) => !alternatives.some((one) => matches(one, other, side)))
      if (lost) report(`${place} takes less than it did`)
      if (side === 'reply' && isWider) report(`${place} is of more types than it was`)
      return
    }
    if (before['type'] !== now['type'] && !(side === 'request' && now['type'] === undefined)) {
      report(`${place} was ${String(before['type'])} and is ${String(now['type'])}`)
      return
    }
    compareMembers(before, now, side, place)
    for (const keyword of LOWER_BOUNDS) {
      if (now[keyword] !== undefined && !(Number(now[keyword]) <= Number(before[keyword])))
        report(`${place} has a narrower ${keyword}`)
    }
    for (const keyword of UPPER_BOUNDS) {
      if (now[keyword] !== undefined && !(Number(now[keyword]) >= Number(before[keyword])))
        report(`${place} has a narrower ${keyword}`)
    }
    for (const keyword of EXACT) {
      if (now[keyword] !== before[keyword] && !(side === 'request' && now[keyword] === undefined))
        report(`${place} has another ${keyword}`)
    }
    compareProperties(before, now, side, place)
    for (const [keyword, inside] of [
      ['items', '[]'],
      ['additionalProperties', '{}'],
      ['propertyNames', '{key}'],
    ] as const) {
      const [one, other] = [before[keyword], now[keyword]]
      if (other === false && one !== false) report(`${place}${inside} is no longer accepted`)
      if (isSchema(one) && isSchema(other)) compare(one, other, side, `${place}${inside}`)
    }
    const parts = (before['allOf'] ?? []) as readonly Schema[]
    const otherParts = (now['allOf'] ?? []) as readonly Schema[]
    for (const [i, part] of parts.entries()) compare(part, otherParts[i] ?? {}, side, place)
  }

  const compareMembers = (before: Schema, now: Schema, side: Side, place: string): void => {
    const [members, others] = [membersOf(before), membersOf(now)]
    if (members === undefined && others !== undefined) report(`${place} is a closed list now`)
    if (members !== undefined && others === undefined && side === 'reply') report(`${place} is no longer a closed list`)
    for (const member of members ?? []) {
      if (others !== undefined && !others.includes(member)) report(`${place} has no ${member} any more`)
    }
  }

  const compareProperties = (before: Schema, now: Schema, side: Side, place: string): void => {
    const [properties, others] = [propertiesOf(before), propertiesOf(now)]
    const [required, otherRequired] = [requiredOf(before), requiredOf(now)]
    for (const [name, schema] of Object.entries(properties)) {
      const other = others[name]
      if (other === undefined) report(`${place}.${name} was removed`)
      else compare(schema, other, side, `${place}.${name}`)
    }
    if (side === 'request') {
      for (const name of otherRequired) if (!required.includes(name)) report(`${place}.${name} is required now`)
    } else {
      for (const name of required) if (!otherRequired.includes(name)) report(`${place}.${name} may be absent now`)
    }
  }
  return compare
}

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The branches of a union; a list of types is one too. */
function alternativesOf(schema: Schema): readonly Schema[] {
  const { type } = schema
  if (Array.isArray(type)) return type.map((one) => ({ ...schema, type: one }))
  return ((schema['anyOf'] ?? schema['oneOf']) as readonly Schema[] | undefined) ?? [schema]
}

const membersOf = (schema: Schema): readonly string[] | undefined => {
  const members = schema['const'] === undefined ? (schema['enum'] as readonly unknown[] | undefined) : [schema['const']]
  return members?.map((member) => JSON.stringify(member))
}

const propertiesOf = (schema: Schema) => (schema['properties'] ?? {}) as Readonly<Record<string, Schema>>
const requiredOf = (schema: Schema) => (schema['required'] ?? []) as readonly string[]
