import { gauge, whenRead } from '../../telemetry/metrics.js'
import type { StoredBook } from './book-version.js'
import type { BookKind } from './proposals.js'

/** How old the books are that calls are valued by. Providers change their prices every few weeks. */

/** From which on doctor warns, and an alert fires (`deploy/monitoring/alerts.yaml`). */
export const BOOK_AGE_DAYS_MAX = 45
const DAY_MS = 24 * 60 * 60 * 1000

/** Since the day that a book describes; 0 for one of the future. @param asOf YYYY-MM-DD */
const bookAgeMs = (asOf: string, nowMs: number): number => Math.max(0, nowMs - Date.parse(`${asOf}T00:00:00Z`))
export const bookAgeDays = (asOf: string, nowMs: number): number => Math.floor(bookAgeMs(asOf, nowMs) / DAY_MS)

/**
 * The imported book by which calls of an instant are valued; undefined: that of the release.
 *
 * @param imported those that begin last first, as `importedBooks` lists them
 */
export const importedInForce = (imported: readonly StoredBook[], atMs: number): StoredBook | undefined =>
  imported.find(({ undone_at, effective_from }) => undone_at === undefined && Date.parse(effective_from) <= atMs)

const AGE = gauge('book_age_seconds', 'Since the day that the price book or energy table in force describes.', ['book'])

/** Follows the age of the books in force, for metrics. @returns stops it */
export function followBookAges(asOfBooks: Readonly<Record<BookKind, () => string>>, clock: () => number): () => void {
  return whenRead(() => {
    for (const [book, asOf] of Object.entries(asOfBooks)) AGE.set({ book }, bookAgeMs(asOf(), clock()) / 1000)
  })
}
