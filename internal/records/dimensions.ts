/**
 * Tags as dimensions: a tenant declares some tag keys, and its records carry the values of these keys in one column, as
 * pairs of key and value. A pair names its key, so a key that is removed or replaced never lends its values to another
 * one (deploy/decisions/tags-as-dimensions.md).
 */

/** Keys that a tenant may declare. */
export const DIMENSIONS_MAX = 8
/** Distinct values per key; calls with further values are counted under `OTHER_VALUES`. */
export const TAG_VALUES_MAX = 10_000

/** Stands for values past `TAG_VALUES_MAX`, and for values that read like one of these two. */
export const OTHER_VALUES = '(other values)'
/** The value of records from before the key was declared. Not stored: such a record has no pair of the key. */
export const NOT_DECLARED = '(not declared)'

/** A declared tag key. */
export interface Dimension {
  /** As declared. Events may spell it in other case. */
  readonly key: string
  /** Whether its values name people, which count as people in reports. */
  readonly personal: boolean
}

/** A key of a filter or a group: `tags.` and the folded tag key. */
export type TagField = `tags.${string}`
export const TAG_PREFIX = 'tags.'
export const isTagField = (field: string): field is TagField => field.startsWith(TAG_PREFIX)

/** Keys that differ only in case, in the spaces around them or in the encoding of their characters are the same key. */
export const foldKey = (key: string): string => key.trim().normalize('NFC').toLowerCase()

export const tagFieldOf = (key: string): TagField => `${TAG_PREFIX}${foldKey(key)}`
/** The folded key of a tag field. */
export const keyOfTagField = (field: TagField): string => field.slice(TAG_PREFIX.length)

/** Neither keys nor values contain control characters. */
const SEPARATOR = '\t'

/** The beginning of every pair of a key. */
export const pairStart = (foldedKey: string): string => `${foldedKey}${SEPARATOR}`
/** A pair as stored. @param value '' where the event has no such tag */
export const pairOf = (foldedKey: string, value: string): string => `${foldedKey}${SEPARATOR}${value}`

/** Reads a pair. @returns the folded key and the value */
export function readPair(pair: string): readonly [foldedKey: string, value: string] {
  const at = pair.indexOf(SEPARATOR)
  return [pair.slice(0, at), pair.slice(at + 1)]
}

type Tags = Readonly<Record<string, string>>

const NONE: readonly string[] = []

/**
 * The pairs of a record, one per declared key, in the order of the declaration. Of tags that an event spells in several
 * ways, the one that is spelled as declared counts, else the first.
 */
export function pairsOf(declared: readonly Pick<Dimension, 'key'>[], tags: Tags | undefined): readonly string[] {
  if (declared.length === 0) return NONE
  let folded: ReadonlyMap<string, string> | undefined
  return foldedKeys(declared).map((foldedKey, i) => {
    if (tags === undefined) return pairOf(foldedKey, '')
    const key = declared[i]?.key ?? ''
    if (Object.hasOwn(tags, key)) return pairOf(foldedKey, storedValue(tags[key]))
    folded ??= foldedTags(tags)
    return pairOf(foldedKey, storedValue(folded.get(foldedKey)))
  })
}

/** Settings stay the same object until they change: there is one call of this per record. */
function foldedKeys(declared: readonly Pick<Dimension, 'key'>[]): readonly string[] {
  const known = foldedKeysOf.get(declared)
  if (known !== undefined) return known
  const keys = declared.map(({ key }) => foldKey(key))
  foldedKeysOf.set(declared, keys)
  return keys
}

const foldedKeysOf = new WeakMap<readonly Pick<Dimension, 'key'>[], readonly string[]>()

/** Tags by their folded keys: of several spellings, the first counts. */
export function foldedTags(tags: Tags): ReadonlyMap<string, string> {
  const folded = new Map<string, string>()
  for (const [key, value] of Object.entries(tags)) {
    const name = foldKey(key)
    if (!folded.has(name)) folded.set(name, value)
  }
  return folded
}

const storedValue = (value: string | undefined): string => (value === NOT_DECLARED ? OTHER_VALUES : (value ?? ''))

/** The declared tags of a record, under their keys as declared; null where the event has no such tag. */
export function declaredTags(
  declared: readonly Pick<Dimension, 'key'>[],
  pairs: readonly string[],
): Readonly<Record<string, string | null>> {
  if (declared.length === 0) return NO_TAGS
  const values = new Map(pairs.map(readPair))
  const keys = foldedKeys(declared)
  return Object.fromEntries(declared.map(({ key }, i) => [key, shownValue(values.get(keys[i] ?? ''))] as const))
}

const NO_TAGS = {}

const shownValue = (value: string | undefined): string | null =>
  value === undefined ? NOT_DECLARED : value === '' ? null : value
