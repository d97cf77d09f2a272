import { isAllowedType } from './functions.js'
import { isName, isSign, isWord, readTokens, type Token, UnreadableQuery, writeTokens } from './sql-tokens.js'

/** Reads a query from its words alone, without I/O. `syntax-tree.ts` judges which tables and columns it would read. */

export const VIEWS = ['records', 'usage'] as const
export type ViewName = (typeof VIEWS)[number]
export const isView = (name: string): name is ViewName => (VIEWS as readonly string[]).includes(name)

/**
 * Of the engine's own tables, those that drivers read; each has only what is documented
 * (`store/queries/sql/catalogue.ts`).
 */
export const SYSTEM_TABLES = ['databases', 'tables', 'columns', 'settings'] as const

export type Statement =
  | {
      readonly kind: 'select'
      /** One line that begins with SELECT or WITH. */
      readonly text: string
      /** `{name:Type}` in the text, which the request must give. */
      readonly parameters: readonly string[]
      /** The names that it gives to something in parentheses, as to its own subqueries: `name AS (`. */
      readonly ownNames: ReadonlySet<string>
      readonly format: string | undefined
    }
  | { readonly kind: 'describe' | 'exists'; readonly table: string; readonly format: string | undefined }
  | { readonly kind: 'databases' | 'tables'; readonly format: string | undefined }

/** Each writes only what it is given. */
const FORMATS: ReadonlySet<string> = new Set([
  ...['JSON', 'JSONStrings', 'JSONCompact', 'JSONCompactStrings', 'JSONEachRow', 'JSONStringsEachRow', 'JSONColumns'],
  ...['JSONColumnsWithMetadata', 'JSONObjectEachRow', 'JSONEachRowWithProgress'],
  ...['JSONCompactEachRow', 'JSONCompactEachRowWithNames', 'JSONCompactEachRowWithNamesAndTypes'],
  ...['JSONCompactStringsEachRow', 'JSONCompactStringsEachRowWithNames', 'JSONCompactStringsEachRowWithNamesAndTypes'],
  ...['CSV', 'CSVWithNames', 'CSVWithNamesAndTypes', 'TabSeparated', 'TSV', 'TabSeparatedRaw', 'TSVRaw'],
  ...['TabSeparatedWithNames', 'TSVWithNames', 'TabSeparatedWithNamesAndTypes', 'TSVWithNamesAndTypes'],
  ...['RowBinary', 'RowBinaryWithNames', 'RowBinaryWithNamesAndTypes', 'Native', 'Parquet', 'ArrowStream', 'Arrow'],
  ...['Pretty', 'PrettyCompact', 'PrettyCompactMonoBlock', 'Vertical', 'Values', 'Null'],
])
export const isFormat = (name: string): boolean => FORMATS.has(name)

/**
 * @param database under which the tables are shown
 * @throws UnreadableQuery
 */
export function readStatement(query: string, database: string): Statement {
  const tokens = readTokens(query)
  while (isSign(tokens.at(-1), ';')) tokens.pop()
  if (tokens.some((token) => isSign(token, ';'))) throw new UnreadableQuery('Only one statement is allowed')
  const format = takeFormat(tokens)
  const [first, second] = tokens
  if (isWord(first, 'SELECT', 'WITH')) {
    if (isWord(second, 'RECURSIVE')) throw new UnreadableQuery('WITH RECURSIVE is not allowed')
    const text = writeTokens(withoutDatabases(tokens, database))
    return { kind: 'select', text, parameters: parametersOf(tokens), ownNames: ownNamesOf(tokens), format }
  }
  return { ...readListing(tokens, database), format }
}

function takeFormat(tokens: Token[]): string | undefined {
  const [word, name] = tokens.slice(-2)
  if (!isWord(word, 'FORMAT') || name?.kind !== 'word' || tokens.length < 3) return undefined
  if (!isFormat(name.text)) throw new UnreadableQuery('This FORMAT is not allowed')
  tokens.splice(-2)
  return name.text
}

function readListing(tokens: readonly Token[], database: string): StatementWithoutFormat {
  const rest = [...tokens]
  const [first, second] = rest
  if (isWord(first, 'SHOW') && isWord(second, 'DATABASES') && rest.length === 2) return { kind: 'databases' }
  if (isWord(first, 'SHOW') && isWord(second, 'TABLES')) {
    const [from, name, ...more] = rest.slice(2)
    const isOurs = from === undefined || (isWord(from, 'FROM', 'IN') && isName(name, database))
    if (isOurs && more.length === 0) return { kind: 'tables' }
  }
  const kind = isWord(first, 'DESCRIBE', 'DESC') ? 'describe' : isWord(first, 'EXISTS') ? 'exists' : undefined
  if (kind !== undefined) {
    const named = rest.slice(isWord(second, 'TABLE', 'VIEW') ? 2 : 1)
    const [name, ...more] = isName(named[0], database) && isSign(named[1], '.') ? named.slice(2) : named
    if ((name?.kind === 'word' || name?.kind === 'name') && more.length === 0) return { kind, table: name.text }
  }
  throw new UnreadableQuery('Only SELECT, SHOW DATABASES, SHOW TABLES, DESCRIBE and EXISTS are allowed')
}

type StatementWithoutFormat =
  | { readonly kind: 'describe' | 'exists'; readonly table: string }
  | { readonly kind: 'databases' | 'tables' }

/** `database.records` becomes `records`, and `system.tables` the name of what stands for it. */
function withoutDatabases(tokens: readonly Token[], database: string): Token[] {
  const kept: Token[] = []
  for (let i = 0; i < tokens.length; i++) {
    const [token, dot, name] = tokens.slice(i, i + 3) as [Token, Token?, Token?]
    const isQualified = isSign(dot, '.') && !isSign(tokens[i - 1], '.')
    if (isQualified && isName(token, database) && VIEWS.some((view) => isName(name, view))) {
      i++ // the dot
    } else if (isQualified && isName(token, 'system') && SYSTEM_TABLES.some((table) => isName(name, table))) {
      kept.push({ kind: 'word', text: systemName(name?.text ?? '') })
      i += 2
    } else kept.push(token)
  }
  return kept
}

const ownNamesOf = (tokens: readonly Token[]): ReadonlySet<string> =>
  new Set(
    tokens
      .filter(
        ({ kind }, i) =>
          (kind === 'word' || kind === 'name') && isWord(tokens[i + 1], 'AS') && isSign(tokens[i + 2], '('),
      )
      .map(({ text }) => text),
  )

export const systemName = (table: string): string => `system_${table}`

/** @throws UnreadableQuery for a parameter that is a name, or of a type that is no plain value */
function parametersOf(tokens: readonly Token[]): string[] {
  const names: string[] = []
  tokens.forEach((token, i) => {
    if (!isSign(token, '{')) return
    const end = tokens.findIndex((each, j) => j > i && isSign(each, '}'))
    const [name, colon, ...type] = tokens.slice(i + 1, end)
    const typeText = type.map(({ kind, text }) => (kind === 'text' ? `'${text}'` : text)).join('')
    if (end === -1 || name?.kind !== 'word' || !isSign(colon, ':') || typeText === '' || !isAllowedType(typeText)) {
      throw new UnreadableQuery('A parameter is written {name:Type}, with the type of a plain value')
    }
    names.push(name.text)
  })
  return names
}
