import { renamedProviders } from '../../../records/provider-names.js'

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

const PAIRS = [...renamedProviders()]
const SPELLINGS = `[${PAIRS.map(([spelling]) => quoted(spelling)).join(', ')}]`
const NAMES = `[${PAIRS.map(([, name]) => quoted(name)).join(', ')}]`
const OUR_NAMES: ReadonlySet<string> = new Set(PAIRS.map(([, name]) => name))

/**
 * The one name of a provider, from the spelling that a record has: `providerName` in SQL. Spellings and names come from
 * our own list. Stored records keep what their event stated.
 *
 * @param column SQL of the spelling
 */
export const providerSql = (column: string): string => renamed(column, `toString(${column})`)

/**
 * Whether a provider has one of these names, computed per distinct spelling of a block. A name of our list has several
 * spellings; any other name has only its own.
 *
 * @param names at least one, as `providerName` gives them
 * @param bind gives the placeholder of a text
 */
export function isProviderSql(column: string, names: readonly string[], bind: (text: string) => string): string {
  const spellings = PAIRS.filter(([, name]) => names.includes(name)).map(([spelling]) => quoted(spelling))
  const others = names.filter((name) => !OUR_NAMES.has(name)).map(bind)
  const isListed = [
    ...(spellings.length === 0 ? [] : [`${comparable(column)} IN (${spellings.join(', ')})`]),
    ...(others.length === 0 ? [] : [`${column} IN (${others.join(', ')})`]),
  ]
  return `(${isListed.join(' OR ')})`
}

/** @param otherwise SQL for a spelling that is not listed */
const renamed = (column: string, otherwise: string): string =>
  `transform(${comparable(column)}, ${SPELLINGS}, ${NAMES}, ${otherwise})`

/** `comparableProvider` in SQL. */
const comparable = (column: string): string =>
  `lower(replaceAll(replaceAll(trimBoth(toString(${column})), '-', '_'), ' ', '_'))`
