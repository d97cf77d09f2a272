import {
  appendFileSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  truncateSync,
} from 'node:fs'
import { join } from 'node:path'

/**
 * Parts that the engine acknowledged and that are lost: it could not read them when it started, since files of theirs
 * were not written to the end, and set them aside; or they are not there, since a power cut came between the token of
 * their insert, which the disk has first (`writeTokensThrough`), and their files. The engine still knows the tokens of
 * the inserts that made them, and would drop a repeat of such an insert as already stored.
 */

const SET_ASIDE = /^broken-on-start_(.+_\d+_\d+_\d+(?:_\d+)?)(?:_try\d+)?$/
/** No such name means anything to the engine. */
const NAME = 'unreadable'
/** Lines of a log of tokens: what happened, the part, the token. */
const [ADDED, DROPPED] = ['1', '2']

/** Partition, first and last block: a merged part has those of its sources, a mutated one a number more. */
const PART = /^([^_]+)_(\d+)_(\d+)_\d+(?:_\d+)?$/

interface Blocks {
  readonly partition: string
  readonly first: number
  readonly last: number
}

/**
 * Makes the engine of a data folder, which must not run, forget those tokens. Parts that were set aside stay in
 * `detached/` of their tables, under a name by which they are not found again.
 *
 * @param folder the engine's, with the files of its tables in `store/`
 * @returns the folders of the parts that were set aside
 */
export function forgetLostParts(folder: string): readonly string[] {
  return tableFolders(folder).flatMap((table) => {
    const parts = readdirSync(table).flatMap((name) => blocksOf(name) ?? [])
    forgetTokens(join(table, 'deduplication_logs'), parts)
    const detached = join(table, 'detached')
    if (!existsSync(detached)) return []
    return readdirSync(detached).flatMap((name) => {
      const part = SET_ASIDE.exec(name)?.[1]
      if (part === undefined) return []
      const kept = join(detached, `${NAME}_${Date.now()}_${part}`)
      renameSync(join(detached, name), kept)
      return [kept]
    })
  })
}

/**
 * Makes the tokens of inserts survive a power cut before their parts do. Else a part could be there whose token is not,
 * and a repeat of its insert would be stored twice.
 *
 * @param writeThrough of a file or folder (`libchdb.ts`)
 * @param known those that are written through already; new ones are added
 * @returns false where the file system cannot
 */
export function writeTokensThrough(
  folder: string,
  writeThrough: (descriptor: number) => boolean,
  known: Set<string>,
): boolean {
  const paths = tableFolders(folder)
    .map((table) => join(table, 'deduplication_logs'))
    .filter((logs) => existsSync(logs))
    .flatMap((logs) => [logs, ...readdirSync(logs).map((name) => join(logs, name))])
    .filter((path) => !known.has(path))
  return paths.map((path) => isWrittenThrough(path, writeThrough, known)).every((isSo) => isSo)
}

function isWrittenThrough(path: string, writeThrough: (descriptor: number) => boolean, known: Set<string>): boolean {
  let descriptor: number
  try {
    descriptor = openSync(path, 'r')
  } catch (cause) {
    // The engine removes old logs, and those of a dropped table.
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return true
    throw cause
  }
  try {
    known.add(path)
    const isSo = writeThrough(descriptor)
    fsyncSync(descriptor)
    return isSo
  } finally {
    closeSync(descriptor)
  }
}

function blocksOf(part: string): Blocks | undefined {
  const [, partition, first, last] = PART.exec(part) ?? []
  return partition === undefined ? undefined : { partition, first: Number(first), last: Number(last) }
}

/** Of an engine's tables: `store/<first three digits>/<uuid>`. */
function tableFolders(folder: string): readonly string[] {
  const store = join(folder, 'store')
  if (!existsSync(store)) return []
  return readdirSync(store).flatMap((digits) =>
    readdirSync(join(store, digits)).map((uuid) => join(store, digits, uuid)),
  )
}

function forgetTokens(logs: string, parts: readonly Blocks[]): void {
  if (!existsSync(logs)) return
  const numbered = readdirSync(logs)
    .map((name) => ({ file: join(logs, name), number: Number(/^deduplication_log_(\d+)\.txt$/.exec(name)?.[1]) }))
    .filter(({ number }) => Number.isInteger(number))
    .sort((one, other) => one.number - other.number)
  const newest = numbered.at(-1)?.file
  if (newest === undefined) return
  // Its last line may have been cut off.
  const text = readFileSync(newest)
  const whole = text.lastIndexOf('\n') + 1
  if (whole < text.length) truncateSync(newest, whole)
  const lines = numbered.flatMap(({ file }) => readFileSync(file, 'utf8').split('\n'))
  const dropped = tokensIn(lines).filter(([, part]) => {
    const lost = blocksOf(part)
    return lost !== undefined && !parts.some((there) => contains(there, lost))
  })
  if (dropped.length === 0) return
  appendFileSync(newest, dropped.map(([token, part]) => `${DROPPED}\t${part}\t${token}\n`).join(''))
  const descriptor = openSync(newest, 'r+')
  fsyncSync(descriptor)
  closeSync(descriptor)
}

/** The tokens that a log holds in the end, each with the part that its insert made. */
function tokensIn(lines: readonly string[]): [token: string, part: string][] {
  const held = new Map<string, string>()
  for (const line of lines) {
    const [operation, part = '', token = ''] = line.split('\t')
    if (operation === ADDED) held.set(token, part)
    if (operation === DROPPED) held.delete(token)
  }
  return [...held]
}

const contains = (one: Blocks, other: Blocks): boolean =>
  one.partition === other.partition && one.first <= other.first && other.last <= one.last
