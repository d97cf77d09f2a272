import { isAllowedType } from './functions.js'
import { isName, isSign, isWord, readTokens, type Token, UnreadableQuery, writeTokens } from './sql-tokens.js'

/** Reads a query from its words alone, without I/O. `syntax-tree.ts` judges which tables and columns it would read. */

export const VIEWS = ['records', 'usage'] as const
export type ViewName = (typeof VIEWS)[number]
export const isView = (name: string): name is ViewName => (VIEWS as readonly string[]).includes(name)

/**
 * Of the engine's own tables, those that drivers and BI tools read; each has the columns of the engine's, and only the
 * rows that are documented (`store/queries/sql/sql-catalogue.ts`).
 */
export const SYSTEM_TABLES = [
  ...['databases', 'tables', 'columns', 'settings', 'functions', 'data_type_families', 'table_engines', 'one'],
  // Without rows: there are none of ours.
  ...['table_functions', 'dictionaries', 'data_skipping_indices', 'projections', 'parts', 'parts_columns'],
  ...['projection_parts_columns', 'clusters', 'macros', 'replicas', 'mutations', 'merges', 'view_refreshes'],
] as const

export type Statement =
  | {
      readonly kind: 'select'
      /** One line that begins with SELECT or WITH. */
      readonly text: string
      /** Only its columns are wanted: `DESCRIBE (SELECT …)`. */
      readonly isDescribed: boolean
      /** `{name:Type}` in the text, which the request must give. */
      readonly parameters: readonly string[]
      /** The names that it gives to something in parentheses, as to its own subqueries: `name AS (`. */
      readonly ownNames: ReadonlySet<string>
      readonly format: string | undefined
    }
  | (Listing & { readonly format: string | undefined })

type Listing =
  | { readonly kind: 'describe' | 'exists' | 'create'; readonly table: string }
  /** @member condition of the name: empty, or such as `LIKE 'a%'` */
  | { readonly kind: 'databases' | 'tables'; readonly condition: string }
  | { readonly kind: 'existsDatabase'; readonly name: string }

/** Each writes only what it is given. */
const FORMATS: ReadonlySet<string> = new Set([
  ...['JSON', 'JSONStrings', 'JSONCompact', 'JSONCompactStrings', 'JSONEachRow', 'JSONStringsEachRow', 'JSONColumns'],
  ...['JSONColumnsWithMetadata', 'JSONObjectEachRow', 'JSONEachRowWithProgress', 'JSONLines', 'NDJSON'],
  ...['JSONCompactEachRow', 'JSONCompactEachRowWithNames', 'JSONCompactEachRowWithNamesAndTypes'],
  ...['JSONCompactStringsEachRow', 'JSONCompactStringsEachRowWithNames', 'JSONCompactStringsEachRowWithNamesAndTypes'],
  ...['JSONStringsEachRowWithProgress', 'JSONCompactColumns'],
  ...['CSV', 'CSVWithNames', 'CSVWithNamesAndTypes', 'TabSeparated', 'TSV', 'TabSeparatedRaw', 'TSVRaw', 'TSKV'],
  ...['TabSeparatedWithNames', 'TSVWithNames', 'TabSeparatedWithNamesAndTypes', 'TSVWithNamesAndTypes'],
  ...['TSVRawWithNames', 'TSVRawWithNamesAndTypes', 'TabSeparatedRawWithNames', 'TabSeparatedRawWithNamesAndTypes'],
  ...['RowBinary', 'RowBinaryWithNames', 'RowBinaryWithNamesAndTypes', 'Native', 'Parquet', 'ArrowStream', 'Arrow'],
  ...['ODBCDriver2', 'XML', 'Markdown', 'Pretty', 'PrettyCompact', 'PrettyCompactMonoBlock', 'PrettyNoEscapes'],
  ...['PrettyCompactNoEscapes', 'PrettySpace', 'Vertical', 'Values', 'Null'],
])
export const isFormat = (name: string): boolean => FORMATS.has(name)

/** What a query is read for. */
export interface Reader {
  /** Under which the tables are shown. */
  readonly database: string
  /** The SQL user's name. */
  readonly user: string
}

/** @throws UnreadableQuery */
export function readStatement(query: string, reader: Reader): Statement {
  const tokens = readTokens(query)
  while (isSign(tokens.at(-1), ';')) tokens.pop()
  if (tokens.some((token) => isSign(token, ';'))) throw new UnreadableQuery('Only one statement is allowed')
  const format = takeFormat(tokens)
  const select = isWord(tokens[0], 'SELECT', 'WITH') ? tokens : describedSelect(tokens)
  if (select === undefined) return { ...readListing(tokens, reader.database), format }
  if (isWord(select[1], 'RECURSIVE')) throw new UnreadableQuery('WITH RECURSIVE is not allowed')
  return {
    kind: 'select',
    text: writeTokens(withOurAnswers(withoutDatabases(select, reader.database), reader.user)),
    isDescribed: select !== tokens,
    parameters: parametersOf(select),
    ownNames: ownNamesOf(select),
    format,
  }
}

function takeFormat(tokens: Token[]): string | undefined {
  const [word, name] = tokens.slice(-2)
  if (!isWord(word, 'FORMAT') || name?.kind !== 'word' || tokens.length < 3) return undefined
  if (!isFormat(name.text)) throw new UnreadableQuery('This FORMAT is not allowed')
  tokens.splice(-2)
  return name.text
}

/** Of `DESCRIBE [TABLE] (SELECT …)`: what stands in the parentheses. */
function describedSelect(tokens: readonly Token[]): readonly Token[] | undefined {
  if (!isWord(tokens[0], 'DESCRIBE', 'DESC')) return undefined
  const [open, ...inner] = tokens.slice(isWord(tokens[1], 'TABLE') ? 2 : 1)
  if (!isSign(open, '(') || !isSign(inner.pop(), ')') || !isWord(inner[0], 'SELECT', 'WITH')) return undefined
  return inner
}

function readListing(tokens: readonly Token[], database: string): Listing {
  const [first, second, third] = tokens
  if (isWord(first, 'SHOW') && isWord(second, 'DATABASES')) {
    const condition = conditionOf(tokens.slice(2))
    if (condition !== undefined) return { kind: 'databases', condition }
  }
  if (isWord(first, 'SHOW') && isWord(second, 'TABLES')) {
    const isFrom = isWord(third, 'FROM', 'IN')
    const condition = conditionOf(tokens.slice(isFrom ? 4 : 2))
    if (condition !== undefined && (!isFrom || isName(tokens[3], database))) return { kind: 'tables', condition }
  }
  if (isWord(first, 'EXISTS') && isWord(second, 'DATABASE') && isNamed(third) && tokens.length === 3) {
    return { kind: 'existsDatabase', name: third.text }
  }
  const kind = KINDS_OF_TABLE.find(([words]) => words.every((word, i) => isWord(tokens[i], ...word)))
  if (kind !== undefined) {
    const rest = tokens.slice(kind[0].length)
    const named = isWord(rest[0], 'TABLE', 'VIEW') ? rest.slice(1) : rest
    const [name, ...more] = isName(named[0], database) && isSign(named[1], '.') ? named.slice(2) : named
    if (isNamed(name) && more.length === 0) return { kind: kind[1], table: name.text }
  }
  throw new UnreadableQuery(
    'Only SELECT, SHOW DATABASES, SHOW TABLES, SHOW CREATE TABLE, DESCRIBE and EXISTS are allowed',
  )
}

const KINDS_OF_TABLE = [
  [[['DESCRIBE', 'DESC']], 'describe'],
  [[['EXISTS']], 'exists'],
  [[['SHOW'], ['CREATE']], 'create'],
] as const

const isNamed = (token: Token | undefined): token is Token => token?.kind === 'word' || token?.kind === 'name'

/** @returns `[NOT] LIKE|ILIKE 'text'` as it is written again; undefined for anything else */
function conditionOf(tokens: readonly Token[]): string | undefined {
  const [like, text, ...more] = isWord(tokens[0], 'NOT') ? tokens.slice(1) : tokens
  const isLike = isWord(like, 'LIKE', 'ILIKE') && text?.kind === 'text' && more.length === 0
  return tokens.length === 0 || isLike ? writeTokens(tokens) : undefined
}

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

/** Drivers ask them as they connect. The engine would name the machine, and the user of ours that asks it. */
const ANSWERED_BY_US: ReadonlyMap<string, (user: string) => string> = new Map([
  ['displayname', () => 'attribution'],
  ...['currentuser', 'current_user', 'user'].map((name) => [name, (user: string) => user] as const),
])

function withOurAnswers(tokens: readonly Token[], user: string): Token[] {
  const kept: Token[] = []
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i] as Token
    const answer = isNamed(token) ? ANSWERED_BY_US.get(token.text.toLowerCase()) : undefined
    const isCall = isSign(tokens[i + 1], '(') && isSign(tokens[i + 2], ')')
    if (answer !== undefined && isCall) {
      kept.push({ kind: 'text', text: answer(user) })
      i += 2
    } else kept.push(token)
  }
  return kept
}

const ownNamesOf = (tokens: readonly Token[]): ReadonlySet<string> =>
  new Set(
    tokens
      .filter((token, i) => isNamed(token) && isWord(tokens[i + 1], 'AS') && isSign(tokens[i + 2], '('))
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
