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
 * Parts that the engine could not read when it started, since files of theirs were not written to the end. It sets them
 * aside, but still knows the tokens of the inserts that made them, and would drop a repeat of such an insert as already
 * stored.
 */

const SET_ASIDE = /^broken-on-start_(.+_\d+_\d+_\d+(?:_\d+)?)(?:_try\d+)?$/
/** No such name means anything to the engine. */
const NAME = 'unreadable'
/** Lines of a log of tokens: what happened, the part, the token. */
const [ADDED, DROPPED] = ['1', '2']

/**
 * Makes the engine of a data folder, which must not run, forget those tokens. The parts stay in `detached/` of their
 * tables, under a name by which they are not found again.
 *
 * @param folder the engine's, with the files of its tables in `store/`
 * @returns the folders of the parts
 */
export function forgetUnreadableParts(folder: string): readonly string[] {
  return tableFolders(folder).flatMap((table) => {
    const detached = join(table, 'detached')
    if (!existsSync(detached)) return []
    const found = readdirSync(detached).flatMap((name) => {
      const part = SET_ASIDE.exec(name)?.[1]
      return part === undefined ? [] : [{ name, part }]
    })
    if (found.length === 0) return []
    forgetTokens(join(table, 'deduplication_logs'), new Set(found.map(({ part }) => part)))
    return found.map(({ name, part }) => {
      const kept = join(detached, `${NAME}_${Date.now()}_${part}`)
      renameSync(join(detached, name), kept)
      return kept
    })
  })
}

/** Of an engine's tables: `store/<first three digits>/<uuid>`. */
function tableFolders(folder: string): readonly string[] {
  const store = join(folder, 'store')
  if (!existsSync(store)) return []
  return readdirSync(store).flatMap((digits) =>
    readdirSync(join(store, digits)).map((uuid) => join(store, digits, uuid)),
  )
}

function forgetTokens(logs: string, parts: ReadonlySet<string>): void {
  if (!existsSync(logs)) return
  const numbered = readdirSync(logs)
    .map((name) => ({ file: join(logs, name), number: Number(/^deduplication_log_(\d+)\.txt$/.exec(name)?.[1]) }))
    .filter(({ number }) => Number.isInteger(number))
    .sort((one, other) => one.number - other.number)
  const newest = numbered.at(-1)?.file
  if (newest === undefined) return
  const dropped = numbered
    .flatMap(({ file }) => readFileSync(file, 'utf8').split('\n'))
    .flatMap((line) => {
      const [operation, part = '', token] = line.split('\t')
      return operation === ADDED && token !== undefined && parts.has(part) ? [`${DROPPED}\t${part}\t${token}\n`] : []
    })
  if (dropped.length === 0) return
  // Its last line may have been cut off as well.
  const text = readFileSync(newest)
  truncateSync(newest, text.lastIndexOf('\n') + 1)
  appendFileSync(newest, dropped.join(''))
  const descriptor = openSync(newest, 'r+')
  fsyncSync(descriptor)
  closeSync(descriptor)
}
