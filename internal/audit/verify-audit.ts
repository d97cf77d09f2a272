import { HEAD_LOST } from '../auth/audit-entry.js'
import { AUDIT_LOG_KEPT_DAYS, type AuditLogRow } from '../store/tables/audit-log.js'
import { toRecord } from './audit-rows.js'
import { CHAIN_START, hashOf } from './chain.js'
import type { ReadHead, SignedDay } from './heads.js'

/** A defect of an audit log, and where it is. */
export interface AuditFinding {
  /**
   * - changed: the record or its hash differs from the original
   * - removed: records are missing in the middle, at the end, or at the beginning before the end of their retention
   * - reordered: the record had another sequence number
   * - repeated: several records have the same sequence number
   * - rewritten: the chain is consistent, but it differs from the signed one
   * - unsigned: the log has no signed head, or continued after its signed head was lost
   * - forged: a signature is not the instance's
   */
  readonly kind: 'changed' | 'removed' | 'reordered' | 'repeated' | 'rewritten' | 'unsigned' | 'forged'
  /** The first affected record; 0 when none is. */
  readonly sequence: number
  readonly detail: string
}

export interface AuditVerification {
  readonly records: number
  /** The first and last record; 0 without records. */
  readonly first: number
  readonly last: number
  /** The last signed record; later ones were written just now. */
  readonly signed: number
  /** In the order of detection; at most 1000. */
  readonly findings: readonly AuditFinding[]
}

export interface SignedPlaces {
  readonly head: ReadHead
  readonly days: readonly SignedDay[]
  /** Dates whose signature is not the instance's. */
  readonly forged: readonly string[]
}

const FINDINGS_MAX = 1_000
/** To distinguish moved records from changed ones costs the cube of their number. */
const MOVED_MAX = 32
const DAY_MS = 24 * 60 * 60 * 1000

const NOTHING_SIGNED = { sequence: 0, created_at: new Date(0).toISOString() }

/** A record whose hash does not match after this previous one. */
interface Misfit {
  readonly row: AuditLogRow
  readonly previous: string
}

/**
 * Checks a whole log: every record against its hash and the previous record, and against the signed heads.
 *
 * @param rows of one log, by sequence
 * @param places signed heads, read before `rows`, so that their records are in the table
 */
export async function verifyAuditLog(
  rows: AsyncIterable<AuditLogRow>,
  places: SignedPlaces,
  nowMs: number,
): Promise<AuditVerification> {
  const findings: AuditFinding[] = []
  const find = (kind: AuditFinding['kind'], sequence: number, detail: string): void => {
    if (findings.length < FINDINGS_MAX) findings.push({ kind, sequence, detail })
  }
  const signed = [...places.days, ...(places.head.kind === 'signed' ? [places.head.head] : [])]
  const expected = new Map(signed.map(({ sequence, hash }) => [sequence, hash]))

  const misfits: Misfit[] = []
  // A day less: only the time of a day's last record is known.
  const dueMs = nowMs - (AUDIT_LOG_KEPT_DAYS - 1) * DAY_MS
  let [records, first, last, lastAtMs] = [0, 0, 0, 0]
  /** The next record may follow either: the stored hash, or the hash that the record should have. */
  let previous: readonly string[] = [CHAIN_START.hash]
  for await (const row of rows) {
    records++
    if (first === 0) {
      first = row.sequence
      checkBeginning(row, places.days, dueMs, find)
    }
    if (records > 1 && row.sequence === last) {
      find('repeated', row.sequence, `several records have the sequence number ${row.sequence}`)
      continue
    }
    if (row.action === HEAD_LOST) {
      find(
        'unsigned',
        row.sequence,
        `the signed head was missing when the log continued with ${row.sequence}: earlier records may be missing`,
      )
    }
    const isBehind = row.sequence === last + 1
    // Retention deletes whole months: an expired record may remain before deleted ones.
    if (last > 0 && !isBehind && lastAtMs > dueMs) {
      find('removed', last + 1, `records ${last + 1} to ${row.sequence - 1} are missing`)
    }
    last = row.sequence
    lastAtMs = row.createdAtMs
    // The hash of a missing record is known where it was signed.
    const before = isBehind ? previous : [expected.get(row.sequence - 1)].filter((hash) => hash !== undefined)
    const fitting = before.find((hash) => hashBehind(hash, row) === row.hash)
    const signedHash = expected.get(row.sequence)
    if (before.length > 0 && fitting === undefined) misfits.push({ row, previous: before[0] as string })
    else if (signedHash !== undefined && signedHash !== row.hash) {
      find('rewritten', row.sequence, `record ${row.sequence} differs from the signed one`)
    }
    const computed = fitting === undefined && before[0] !== undefined ? hashBehind(before[0], row) : undefined
    previous = computed === undefined ? [row.hash] : [row.hash, computed]
  }
  findings.push(...explained(misfits).slice(0, FINDINGS_MAX - findings.length))

  for (const date of places.forged) find('forged', 0, `the head of ${date} was not signed by this instance`)
  if (places.head.kind === 'forged') find('forged', 0, 'the head of the log was not signed by this instance')
  if (places.head.kind === 'missing' && records > 0) find('unsigned', last, 'the log has no signed head')
  const furthest = signed.reduce((one, other) => (other.sequence > one.sequence ? other : one), NOTHING_SIGNED)
  if (last < furthest.sequence && Date.parse(furthest.created_at) > dueMs) {
    find('removed', last + 1, `records ${last + 1} to ${furthest.sequence} are missing at the end`)
  }
  return { records, first, last, signed: Math.min(furthest.sequence, last), findings }
}

function hashBehind(previous: string, row: AuditLogRow): string | undefined {
  const record = toRecord(row)
  return record && hashOf(previous, record)
}

/** A log that does not begin at 1 must have lost only records past their retention, according to the heads of days. */
function checkBeginning(
  { sequence }: AuditLogRow,
  days: readonly SignedDay[],
  dueMs: number,
  find: (kind: 'removed', sequence: number, detail: string) => void,
): void {
  const early = days.find((day) => day.from < sequence && Date.parse(day.created_at) > dueMs)
  if (early !== undefined) {
    find('removed', early.from, `records before ${sequence} are missing before the end of their retention`)
  }
}

/** Classifies misfits as moved or changed; a record is correct where only the previous one was moved. */
function explained(misfits: readonly Misfit[]): AuditFinding[] {
  const candidates = misfits.length <= MOVED_MAX ? misfits : []
  const hashes = candidates.map(({ row }) => row.hash)
  return misfits.flatMap(({ row }): AuditFinding[] => {
    const { sequence } = row
    if (hashes.some((hash) => hashBehind(hash, row) === row.hash)) return []
    const origin = candidates.find((other) => {
      const moved = { ...row, sequence: other.row.sequence }
      const followed = (hash: string) => [row.hash, other.row.hash].includes(hashBehind(hash, moved) ?? '')
      return other.row !== row && [other.previous, ...hashes].some(followed)
    })
    if (origin !== undefined) {
      const detail = `record ${sequence} had the sequence number ${origin.row.sequence}`
      return [{ kind: 'reordered', sequence, detail }]
    }
    const detail = `record ${sequence} differs from the one that was written after record ${sequence - 1}`
    return [{ kind: 'changed', sequence, detail }]
  })
}
