import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../../config/settings.js'
import { isAllowedFunction } from '../../sql/functions.js'
import { schemaFor } from '../../store/migrations/migrate.js'
import type { Manifest } from './backup-manifest.js'

/**
 * What a restored read model may consist of: the tables that a version of this service makes, each with its own engine,
 * and changes of their rows. The engine takes what lies in its folder as its own: a table of the engine `File` that
 * somebody put there, or a column with `file('/etc/passwd')` as its default, would read the machine's files.
 */

/** @param links of the backup, which are made afterwards @throws ConfigError that names what does not belong there */
export function requireKnownTables(dataFolder: string, links: Manifest['links']): void {
  for (const [path, target] of links) {
    if (!LINK.test(`${path} ${target}`)) throw new ConfigError(`the backup has the link ${path}: it is not restored`)
  }
  for (const path of filesOfTables(dataFolder)) {
    const fault = faultOf(path, () => readFileSync(join(dataFolder, path), 'utf8'))
    if (fault !== undefined) throw new ConfigError(`the backup has ${path}, which ${fault}: it is not restored`)
  }
}

/** A database's name, and the folder of its tables. */
const LINK = /^metadata\/[\w%]+ \.\.\/store\/[0-9a-f]{3}\/[0-9a-f-]{36}$/
/** Where parts of tables lie, whose files are data. */
const PART = /^store\/[0-9a-f]{3}\/[0-9a-f-]{36}\/[^/.]+\//
/** Of a table or view, in the folder of its database. */
const OF_TABLE = /^store\/[0-9a-f]{3}\/[0-9a-f-]{36}\/(\w+)\.sql$/
const MUTATION = /^store\/[0-9a-f]{3}\/[0-9a-f-]{36}\/mutation_\d+\.txt$/
const FORMAT = /^store\/[0-9a-f]{3}\/[0-9a-f-]{36}\/format_version\.txt$/
const OF_DATABASE = /^metadata\/[\w%]+\.sql$/

const filesOfTables = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => !each.isDirectory())
    .map((each) => join(each.parentPath, each.name).slice(folder.length + 1))
    .filter((path) => !PART.test(path))

/** @param path below the engine's data folder @returns what is wrong with a file; undefined: nothing */
export function faultOf(path: string, read: () => string): string | undefined {
  if (FORMAT.test(path)) return undefined
  if (OF_DATABASE.test(path)) return DATABASE.test(read()) ? undefined : 'is no database of this service'
  if (MUTATION.test(path)) return faultOfMutation(read())
  const [, table] = OF_TABLE.exec(path) ?? []
  return table === undefined ? 'no version of this service writes' : faultOfTable(table, read())
}

/** A definition as the engine shows it, up to the list of columns. */
const HEAD = /^CREATE (TABLE|VIEW|MATERIALIZED VIEW) (?:[\w.]|`[^`]*`)+( TO (?:[\w.]|`[^`]*`)+)?(?= \(|$)/

/**
 * @param statement as the engine itself shows what it has loaded
 * @returns what is wrong with a table of the engine's; the operator's own, undefined as `table`, are judged by what they
 * call alone: a view of ours could read them
 */
export function faultOfLoaded(table: string | undefined, statement: string): string | undefined {
  if (table !== undefined && ENGINES.has(table))
    return faultOfTable(table, statement.replace(HEAD, "ATTACH $1 _ UUID ''$2"))
  const code = withoutTexts(statement.replace(HEAD, ''))
  return code === undefined ? 'cannot be read' : faultOfCalls(code)
}

const DATABASE = /^ATTACH DATABASE _ UUID '[0-9a-f-]{36}'\nENGINE = Atomic\n$/

/** The engine of each table; of a view, none. */
const ENGINES: ReadonlyMap<string, string | undefined> = new Map(
  schemaFor('').flatMap((statement): [string, string | undefined][] => {
    const [, view, name] = /^\s*CREATE (MATERIALIZED VIEW|TABLE) IF NOT EXISTS (\w+)/.exec(statement) ?? []
    if (name === undefined) return []
    return [[name, view === 'TABLE' ? /\bENGINE = (\w+)/.exec(statement)?.[1] : undefined]]
  }),
)

function faultOfTable(table: string, statement: string): string | undefined {
  if (!ENGINES.has(table)) return 'is no table of this service'
  const code = withoutTexts(statement)
  if (code === undefined) return 'cannot be read'
  const engines = [...code.matchAll(/\bENGINE\s*=\s*(\S+)/gi)].map(([, engine]) => /^\w+/.exec(engine ?? '')?.[0])
  const own = ENGINES.get(table)
  const isOwn = engines.every((engine) => engine === own) && engines.length === (own === undefined ? 0 : 1)
  const kind = own === undefined ? 'MATERIALIZED VIEW' : 'TABLE'
  if (!isOwn || !code.startsWith(`ATTACH ${kind} _ UUID ''`)) return 'has another engine than its table'
  return faultOfCalls(code)
}

/** As the engine writes one: its commands are one line, escaped. */
const COMMANDS = /^format version: 1\ncreate time: [^\n]*\ncommands: ([^\n]*)\n/

function faultOfMutation(text: string): string | undefined {
  const [, escaped] = COMMANDS.exec(text) ?? []
  const commands = escaped === undefined ? undefined : unescaped(escaped)
  const code = commands === undefined ? undefined : withoutTexts(commands)
  return code === undefined ? 'cannot be read' : faultOfCalls(code)
}

/** @returns undefined where a sign is escaped that needs none, behind which something may hide */
function unescaped(text: string): string | undefined {
  if (/\\[^\\'ntrbf0]/.test(text.replaceAll('\\\\', ''))) return undefined
  return text.replaceAll(/\\(.)/g, (_, sign: string) => ESCAPED.get(sign) ?? sign)
}
const ESCAPED = new Map([...'ntrbf0'].map((sign, i) => [sign, '\n\t\r\b\f\0'[i] ?? '']))

/** A statement with empty texts. @returns undefined if something in it may be read in two ways */
function withoutTexts(statement: string): string | undefined {
  const code = statement.replaceAll(/'(?:[^'\\]|\\[\s\S])*'|`[^`\\]*`|"[^"\\]*"/g, (quoted) =>
    quoted.startsWith("'") ? "''" : quoted,
  )
  // Comments, heredocs, escapes and the quotes of other alphabets: the engine writes none of them.
  return /--|\/[*/]|[#$\\]|[^\t\n\r -~]/.test(code) ? undefined : code
}

/** A word before an opening bracket that calls nothing. */
const WORDS = new Set(
  (
    'all and as by codec columns distinct else except from having in index intersect join key limit not on or over ' +
    'select then to type union using values when where with ' +
    // Types, engines, and indexes.
    'aggregatefunction array bloom_filter datetime datetime64 decimal enum8 enum16 fixedstring lowcardinality map ' +
    'nullable simpleaggregatefunction tuple zstd lz4 delta doubledelta t64 minmax set tokenbf_v1 ngrambf_v1 ' +
    'replacingmergetree aggregatingmergetree mergetree ' +
    // Functions besides those that SQL users may call.
    'arrayexists arrayfilter arraymap mapapply mapfilter summap tofixedstring unhex'
  ).split(' '),
)

function faultOfCalls(code: string): string | undefined {
  for (const [, word = ''] of code.matchAll(/([A-Za-z_]\w*|`[^`]*`|"[^"]*")\s*\(/g)) {
    const isKnown = WORDS.has(word.toLowerCase()) || isAllowedFunction(word) || ENGINES.has(word)
    if (!isKnown) return `calls ${word}`
  }
  return undefined
}
