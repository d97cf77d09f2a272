import { HEAD_LOST } from '../auth/audit-entry.js'
import { AUDIT_LOG_KEPT_DAYS, type AuditLogRow } from '../store/tables/audit-log.js'
import { CHAIN_START, hashOf } from './chain.js'
import type { ReadHead, SignedDay } from './heads.js'
import { toRecord } from './rows.js'

/** What is wrong with an audit log, and where. */
export interface AuditFinding {
  /**
   * - changed: the record is not what was written, or its hash is not
   * - removed: records are missing, in the middle, at the end, or at the beginning before they were due to go
   * - reordered: the record stood at another place
   * - repeated: several records claim one place
   * - rewritten: the chain holds and is another one than was signed
   * - unsigned: nobody has signed how far the log goes, or the place was lost once and the log taken up again
   * - forged: a signature is not the instance's
   */
  readonly kind: 'changed' | 'removed' | 'reordered' | 'repeated' | 'rewritten' | 'unsigned' | 'forged'
  /** The first record that it concerns; 0 when it concerns none. */
  readonly sequence: number
  readonly detail: string
}

export interface AuditVerification {
  readonly records: number
  /** The first and the last record that there are; 0 when there is none. */
  readonly first: number
  readonly last: number
  /** The last record whose place is signed; what comes behind it has been written in these moments. */
  readonly signed: number
  /** In the order in which they were found; the first thousand. */
  readonly findings: readonly AuditFinding[]
}

export interface SignedPlaces {
  readonly head: ReadHead
  readonly days: readonly SignedDay[]
  /** Dates whose signature is not the instance's. */
  readonly forged: readonly string[]
}

const FINDINGS_MAX = 1_000
/** To tell a moved record from a changed one costs the cube of how many there are. */
const MOVED_MAX = 32
const DAY_MS = 24 * 60 * 60 * 1000

const NOTHING_SIGNED = { sequence: 0, created_at: new Date(0).toISOString() }

/** A record that its hash does not fit, behind this one. */
interface Misfit {
  readonly row: AuditLogRow
  readonly previous: string
}

/**
 * Checks a whole log: every record against its hash and the one before, and the places that were signed.
 *
 * @param rows of one log, by sequence
 * @param places read before `rows`, so that what they name is in the table
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
  // A day less: of a day it is the last record whose time is known.
  const dueMs = nowMs - (AUDIT_LOG_KEPT_DAYS - 1) * DAY_MS
  let [records, first, last, lastAtMs] = [0, 0, 0, 0]
  /** Either may be what the next record goes behind: the hash that stands here, or the one that should. */
  let previous: readonly string[] = [CHAIN_START.hash]
  for await (const row of rows) {
    records++
    if (first === 0) {
      first = row.sequence
      checkBeginning(row, places.days, dueMs, find)
    }
    if (records > 1 && row.sequence === last) {
      find('repeated', row.sequence, `several records have the place ${row.sequence}`)
      continue
    }
    if (row.action === HEAD_LOST) {
      const detail = `how far the log went was not signed any more when it was taken up again before ${row.sequence}: records may be missing`
      find('unsigned', row.sequence, detail)
    }
    const isBehind = row.sequence === last + 1
    // Records go in whole months: one that is due may stand before others that have gone.
    if (last > 0 && !isBehind && lastAtMs > dueMs) {
      find('removed', last + 1, `the records ${last + 1} to ${row.sequence - 1} are missing`)
    }
    last = row.sequence
    lastAtMs = row.createdAtMs
    // What a missing record's hash was is known where its place was signed.
    const before = isBehind ? previous : [expected.get(row.sequence - 1)].filter((hash) => hash !== undefined)
    const fitting = before.find((hash) => hashBehind(hash, row) === row.hash)
    const signedHash = expected.get(row.sequence)
    if (before.length > 0 && fitting === undefined) misfits.push({ row, previous: before[0] as string })
    else if (signedHash !== undefined && signedHash !== row.hash) {
      find('rewritten', row.sequence, `the record ${row.sequence} is not the one that was signed`)
    }
    const computed = fitting === undefined && before[0] !== undefined ? hashBehind(before[0], row) : undefined
    previous = computed === undefined ? [row.hash] : [row.hash, computed]
  }
  findings.push(...explained(misfits).slice(0, FINDINGS_MAX - findings.length))

  for (const date of places.forged)
    find('forged', 0, `the place at the end of ${date} has not been signed by this instance`)
  if (places.head.kind === 'forged')
    find('forged', 0, 'the place of the last record has not been signed by this instance')
  if (places.head.kind === 'missing' && records > 0) find('unsigned', last, 'nobody has signed how far the log goes')
  const furthest = signed.reduce((one, other) => (other.sequence > one.sequence ? other : one), NOTHING_SIGNED)
  if (last < furthest.sequence && Date.parse(furthest.created_at) > dueMs) {
    find('removed', last + 1, `the records ${last + 1} to ${furthest.sequence} are missing at the end`)
  }
  return { records, first, last, signed: Math.min(furthest.sequence, last), findings }
}

function hashBehind(previous: string, row: AuditLogRow): string | undefined {
  const record = toRecord(row)
  return record && hashOf(previous, record)
}

/** A log that does not begin at 1 has lost only what was old enough to go, as far as the days tell. */
function checkBeginning(
  { sequence }: AuditLogRow,
  days: readonly SignedDay[],
  dueMs: number,
  find: (kind: 'removed', sequence: number, detail: string) => void,
): void {
  const early = days.find((day) => day.from < sequence && Date.parse(day.created_at) > dueMs)
  if (early !== undefined) {
    find('removed', early.from, `records before ${sequence} are missing and were not old enough to go`)
  }
}

/** What the misfits are: moved, or changed; or right, where only the record before was moved. */
function explained(misfits: readonly Misfit[]): AuditFinding[] {
  const candidates = misfits.length <= MOVED_MAX ? misfits : []
  const hashes = candidates.map(({ row }) => row.hash)
  return misfits.flatMap(({ row }): AuditFinding[] => {
    const { sequence } = row
    if (hashes.some((hash) => hashBehind(hash, row) === row.hash)) return []
    const origin = candidates.find((other) => {
      const moved = { ...row, sequence: other.row.sequence }
      const stoodBehind = (hash: string) => [row.hash, other.row.hash].includes(hashBehind(hash, moved) ?? '')
      return other.row !== row && [other.previous, ...hashes].some(stoodBehind)
    })
    if (origin !== undefined) {
      const detail = `the record ${sequence} stood at the place ${origin.row.sequence}`
      return [{ kind: 'reordered', sequence, detail }]
    }
    const detail = `the record ${sequence} is not what was written behind the record ${sequence - 1}`
    return [{ kind: 'changed', sequence, detail }]
  })
}
