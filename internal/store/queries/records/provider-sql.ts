import { renamedProviders } from '../../../records/provider-names.js'

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

const PAIRS = [...renamedProviders()]
const SPELLINGS = `[${PAIRS.map(([spelling]) => quoted(spelling)).join(', ')}]`
const NAMES = `[${PAIRS.map(([, name]) => quoted(name)).join(', ')}]`

/**
 * The one name of a provider, from the spelling that a record has: `providerName` in SQL. Spellings and names come from our own
 * list. Stored records keep what their event stated.
 *
 * @param column SQL of the spelling
 */
export const providerSql = (column: string): string =>
  `transform(lower(replaceAll(replaceAll(trimBoth(toString(${column})), '-', '_'), ' ', '_')), ${SPELLINGS}, ${NAMES}, toString(${column}))`
