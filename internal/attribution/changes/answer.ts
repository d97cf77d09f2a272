import type { PrincipalEntry, ServiceEntry } from '../../directory/directory.js'
import type { StoredPool } from '../pools/pool.js'

/** The kinds of entries by which the stages attribute calls, and of which a change can move calls of the past. */
const ANSWER_KINDS = ['services', 'principals', 'pools'] as const
export type AnswerKind = (typeof ANSWER_KINDS)[number]

/** As stored. */
export type AnswerEntry = ServiceEntry | PrincipalEntry | StoredPool

/** A change of one entry, with what it moves of the past: an answer to the question of whose calls are. */
export interface Answer {
  readonly kind: AnswerKind
  /** Of the entry in its bucket. */
  readonly key: string
  /** Null: there was none, or there is none any more. */
  readonly before: AnswerEntry | null
  readonly after: AnswerEntry | null
  /** The copies by which calls are attributed hold at least this revision of the entry's bucket. */
  readonly revision: number
}

/** An entry as it would be, or was: null for none. */
export type EntryDraft = Pick<Answer, 'kind' | 'key'> & { readonly entry: AnswerEntry | null }

/**
 * An answer moves what comes out otherwise without it: with the entry as it was, and with none, since calls may also
 * have been attributed before the entry was there. Undefined: the copies as they are.
 */
export function sidesOf(
  { kind, key, before, after }: Answer,
  isDryRun: boolean,
): { readonly wanted: EntryDraft | undefined; readonly others: readonly (EntryDraft | undefined)[] } {
  const none = { kind, key, entry: null }
  const isThere = before !== null && after !== null
  return isDryRun
    ? { wanted: { kind, key, entry: after }, others: [undefined, ...(isThere ? [none] : [])] }
    : { wanted: undefined, others: [{ kind, key, entry: before }, ...(isThere ? [none] : [])] }
}
