/**
 * What a query would read and call, as the engine itself has parsed it (`EXPLAIN AST`), and whether it may: a rule
 * without reads. Only kinds of nodes that are known are allowed, so that a later version of the engine refuses rather
 * than admits.
 *
 * The engine prints one node per line, one space deeper than its parent, and does not escape names. No name has a line
 * break (`tokens.ts`), so that each line is one node.
 */
import { isAllowedFunction, isAllowedType, isCast, isMembership } from './functions.js'

/** A query that may not run; the message is shown to its sender. */
export class ForbiddenQuery extends Error {}

interface Node {
  readonly kind: string
  /** What follows the kind: a name or value, an alias, the number of children. */
  readonly rest: string
  readonly children: Node[]
}

/** Nodes in which nothing of their own has to be looked at. */
const PLAIN: ReadonlySet<string> = new Set([
  'SelectQuery',
  'SelectIntersectExceptQuery',
  'ExpressionList',
  'Subquery',
  'Literal',
  'Identifier',
  'QualifiedAsterisk',
  'TablesInSelectQuery',
  'TablesInSelectQueryElement',
  'TableJoin',
  'ArrayJoin',
  'OrderByElement',
  'WindowDefinition',
  'WindowListElement',
])

const NODES_MAX = 20_000
/**
 * Tables that the engine reads at most, as it writes out a subquery wherever it is named: planning thousands takes
 * seconds that no limit of the engine counts.
 */
const TABLES_MAX = 256
const LINE = /^( *)([A-Za-z]+)(?: (.*))?$/
/** A name without spaces, then an alias and the number of children. */
const NAMED = /^([A-Za-z_][A-Za-z0-9_]*)(?: \(alias .*\))?(?: \(children \d+\))?$/

/**
 * @param dump as the engine prints it for a query of `tokens.ts`, decoded
 * @returns the names of the tables and of the query's own subqueries that it reads
 * @throws ForbiddenQuery
 */
export function tablesRead(dump: string): ReadonlySet<string> {
  const root = treeOf(dump)
  if (root.kind !== 'SelectWithUnionQuery') throw new ForbiddenQuery('Only SELECT is allowed')
  const tables = new Set<string>()
  check(root, tables)
  if (tablesAtMost(root) > TABLES_MAX) throw new ForbiddenQuery('The query names its subqueries too often')
  return tables
}

/** How many tables a query reads at most: each subquery that has a name may name all tables in it another time. */
function tablesAtMost(root: Node): number {
  let product = Math.max(1, countOf(root, 'TableIdentifier'))
  const visit = (node: Node): void => {
    if (node.kind === 'WithElement') product *= Math.max(1, countOf(node, 'TableIdentifier'))
    for (const child of node.children) visit(child)
  }
  visit(root)
  return product
}

const countOf = (node: Node, kind: string): number =>
  node.children.reduce((sum, child) => sum + countOf(child, kind), node.kind === kind ? 1 : 0)

function treeOf(dump: string): Node {
  const lines = dump.split('\n').filter((line) => line !== '')
  if (lines.length > NODES_MAX) throw new ForbiddenQuery('The query is too large')
  const path: Node[] = []
  let root: Node | undefined
  for (const line of lines) {
    const [, spaces = '', kind = '', rest = ''] = LINE.exec(line) ?? []
    const depth = spaces.length
    const node: Node = { kind, rest, children: [] }
    if (kind === '' || depth > path.length || (depth === 0) !== (root === undefined)) throw UNKNOWN
    root ??= node
    path[depth - 1]?.children.push(node)
    path.length = depth
    path.push(node)
  }
  if (root === undefined) throw UNKNOWN
  return root
}

const UNKNOWN = new ForbiddenQuery('The query has a form that is not known')

function check(node: Node, tables: Set<string>): void {
  checkItself(node, tables)
  // A table of tuples, the only function after FROM, has nothing but literals.
  if (node.kind === 'TableExpression' && node.children[0]?.kind === 'Function') return
  for (const child of node.children) check(child, tables)
}

function checkItself(node: Node, tables: Set<string>): void {
  const { kind, children } = node
  switch (kind) {
    case 'SelectWithUnionQuery':
      // FORMAT, INTO OUTFILE and SETTINGS are further children.
      if (children.length !== 1 || children[0]?.kind !== 'ExpressionList')
        throw forbidden('FORMAT, INTO or SETTINGS here')
      return
    case 'WithElement':
      if (children.length !== 1 || children[0]?.kind !== 'Subquery') throw forbidden('This WITH')
      return
    case 'TableExpression':
      return checkTable(children)
    case 'TableIdentifier':
      tables.add(tableOf(node))
      return
    case 'Asterisk':
      if (children.length > 0) throw forbidden('EXCEPT, REPLACE or APPLY after *')
      return
    case 'Function':
      return checkFunction(node)
    default:
      if (!PLAIN.has(kind)) throw forbidden(kind === 'Set' ? 'SETTINGS' : kind)
      if (kind === 'QualifiedAsterisk' && children.length > 1) throw forbidden('EXCEPT, REPLACE or APPLY after *')
  }
}

function checkTable([table, ...more]: readonly Node[]): void {
  if (table === undefined || more.length > 0) throw forbidden('SAMPLE')
  if (table.kind === 'Function' && !isListOfTuples(table)) throw forbidden('A table function')
  if (!['TableIdentifier', 'Subquery', 'Function'].includes(table.kind)) throw forbidden('This after FROM')
}

/** `VALUES ((1, 'a'), (2, 'b'))`, which the JDBC driver joins its own table of types from: literals, without types. */
const isListOfTuples = ({ rest, children: [list, ...others] }: Node): boolean =>
  NAMED.exec(rest)?.[1]?.toLowerCase() === 'values' &&
  others.length === 0 &&
  list !== undefined &&
  list.children.length > 0 &&
  list.children.every((row) => row.kind === 'Literal' && row.rest.startsWith('Tuple_('))

function tableOf({ rest, children }: Node): string {
  const name = NAMED.exec(rest)?.[1]
  if (name === undefined || children.length > 0) throw new ForbiddenQuery('Only the documented tables can be read')
  return name
}

function checkFunction({ rest, children: [list, ...others] }: Node): void {
  const name = NAMED.exec(rest)?.[1]
  if (name === undefined || !isAllowedFunction(name)) {
    throw new ForbiddenQuery(`The function ${name?.slice(0, 64) ?? ''} is not allowed`)
  }
  const [, second] = list?.children ?? []
  // `x IN name` reads a table of that name; so may an alias.
  if (isMembership(name) && (list?.children.length !== 2 || second?.kind === 'Identifier' || others.length > 0)) {
    throw forbidden('IN with a name: write a list or a subquery')
  }
  if (isCast(name) && !(second?.kind === 'Literal' && isAllowedType(textOf(second.rest)))) {
    throw forbidden('A cast to this type')
  }
}

/** Of a literal's line: the text without its quotes and what follows. */
const textOf = (rest: string): string => /^'(.*)'(?: \(alias .*)?$/.exec(rest)?.[1] ?? '\0'

const forbidden = (what: string): ForbiddenQuery => new ForbiddenQuery(`Not allowed: ${what}`)
