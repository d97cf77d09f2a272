import type { ScimBody } from './scim-contract.js'
import { attributeIn } from './scim-names.js'

/** The part of a resource that a client asks for (RFC 7644 section 3.9). Names in lower case. */
export interface Projection {
  /** Nothing else. Undefined: all. */
  readonly attributes?: ReadonlySet<string>
  readonly excluded?: ReadonlySet<string>
}

/** Of every answer, whatever is asked for. */
const ALWAYS: ReadonlySet<string> = new Set(['id', 'schemas'])

/** @param stated lists of names, separated by commas; an empty one is none */
export function projectionOf(stated: { readonly attributes?: unknown; readonly excluded?: unknown }): Projection {
  const [attributes, excluded] = [namesIn(stated.attributes), namesIn(stated.excluded)]
  return { ...(attributes && { attributes }), ...(excluded && { excluded }) }
}

function namesIn(stated: unknown): ReadonlySet<string> | undefined {
  const texts = (Array.isArray(stated) ? stated : [stated]).filter((one) => typeof one === 'string')
  const names = texts.flatMap((text) => text.split(',')).map(attributeIn)
  const named = new Set(names.filter((name) => name !== ''))
  return named.size === 0 ? undefined : named
}

/** Whether a client asks for an attribute, or a part of it. */
export function isAskedFor(attribute: string, { attributes, excluded }: Projection): boolean {
  if (attributes === undefined) return excluded?.has(attribute) !== true
  return attributes.has(attribute) || partsOf(attribute, attributes).size > 0
}

export function projected<T extends ScimBody>(resource: T, projection: Projection): ScimBody {
  const { attributes, excluded } = projection
  if (attributes === undefined && excluded === undefined) return resource
  const shown = Object.entries(resource).flatMap(([name, value]) => {
    const attribute = name.toLowerCase()
    if (ALWAYS.has(attribute)) return [[name, value]]
    if (!isAskedFor(attribute, projection)) return []
    const isWhole = attributes === undefined || attributes.has(attribute)
    const parts = partsOf(attribute, (isWhole ? excluded : attributes) ?? NONE)
    return [[name, parts.size === 0 ? value : withParts(value, (part) => parts.has(part) !== isWhole)]]
  })
  return Object.fromEntries(shown) as ScimBody
}

const NONE: ReadonlySet<string> = new Set()

/** `groups.display`: the part `display` of `groups`. */
const partsOf = (attribute: string, names: ReadonlySet<string>): ReadonlySet<string> =>
  new Set([...names].filter((name) => name.startsWith(`${attribute}.`)).map((name) => name.slice(attribute.length + 1)))

function withParts(value: unknown, isShown: (part: string) => boolean): unknown {
  if (Array.isArray(value)) return value.map((each) => withParts(each, isShown))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).filter(([name]) => isShown(name.toLowerCase())))
}
