import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { SignedDay } from '../../../internal/audit/heads.js'
import { type AuditFinding, type SignedPlaces, verifyAuditLog } from '../../../internal/audit/verify-audit.js'
import type { AuditLogRow } from '../../../internal/store/tables/audit-log.js'
import { auditEntry, auditRows } from '../../support/audit.js'

const DAY_MS = 24 * 60 * 60 * 1000
const START_MS = Date.UTC(2026, 10, 1)

/** Ten records per day. */
const ROWS = auditRows(
  Array.from({ length: 50 }, (_, i) =>
    auditEntry({ target: `target-${i}`, at: START_MS + Math.floor(i / 10) * DAY_MS + i }),
  ),
)
const NOW_MS = START_MS + 5 * DAY_MS

const dayOf = ({ sequence, hash, createdAtMs }: AuditLogRow, from: number): SignedDay => ({
  sequence,
  hash,
  from,
  created_at: new Date(createdAtMs).toISOString(),
  signature: '',
})
const row = (rows: readonly AuditLogRow[], at: number): AuditLogRow => rows.at(at) as AuditLogRow
const placesOf = (rows: readonly AuditLogRow[]): SignedPlaces => ({
  head: { kind: 'signed', head: dayOf(row(rows, -1), 1) },
  days: [9, 19, 29, 39, 49].map((last) => dayOf(row(rows, last), last - 8)),
  forged: [],
})
const PLACES = placesOf(ROWS)
const NOTHING_SIGNED: SignedPlaces = { head: { kind: 'missing' }, days: [], forged: [] }

const verify = (rows: readonly AuditLogRow[], places = PLACES, nowMs = NOW_MS) =>
  verifyAuditLog(
    (async function* () {
      yield* rows
    })(),
    places,
    nowMs,
  )
const kinds = (findings: readonly AuditFinding[]) => findings.map(({ kind, sequence }) => `${kind} ${sequence}`)

/** The rows, with one altered. */
const altered = (sequence: number, change: (row: AuditLogRow) => AuditLogRow): AuditLogRow[] =>
  ROWS.map((kept) => (kept.sequence === sequence ? change(kept) : kept))

test('an unaltered audit log has no findings', async () => {
  expect(await verify(ROWS)).toEqual({ records: 50, first: 1, last: 50, signed: 50, findings: [] })
  expect(await verify([], NOTHING_SIGNED)).toEqual({ records: 0, first: 0, last: 0, signed: 0, findings: [] })
})

test('records after the last signed head have no findings', async () => {
  const more = [...ROWS, ...auditRows([auditEntry()], row(ROWS, -1))]

  expect(await verify(more)).toMatchObject({ last: 51, signed: 50, findings: [] })
})

describe('a changed record is found at its sequence number', () => {
  const other = fc.string({ minLength: 1, maxLength: 8 }).map((text) => `${text}!`)
  const changes: fc.Arbitrary<Partial<AuditLogRow>> = fc.oneof(
    ...(['tenantId', 'actor', 'action', 'target', 'outcome', 'errorCode', 'traceId', 'sourceAddress'] as const).map(
      (field) => other.map((text) => ({ [field]: text })),
    ),
    other.map((text) => ({ changes: JSON.stringify(text) })),
    fc.constant({ changes: ' null' }),
    fc.integer({ min: 2, max: 2 ** 32 - 1 }).map((repeats) => ({ repeats })),
    fc.integer({ min: 0, max: START_MS - 1 }).map((createdAtMs) => ({ createdAtMs })),
    fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => ({ hash: Buffer.from(bytes).toString('hex') })),
  )

  test('in each of its columns', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 50 }), changes, async (sequence, change) => {
        const { findings } = await verify(altered(sequence, (kept) => ({ ...kept, ...change })))

        expect(kinds(findings)).toEqual([`changed ${sequence}`])
      }),
    )
  })

  test('when its hash was computed again: at the record or the next', async () => {
    const forged = auditRows([auditEntry({ target: 'another' })], row(ROWS, 13))
    const { findings } = await verify(altered(15, () => row(forged, 0)))

    expect(kinds(findings)).toEqual(['changed 16'])
  })

  test('when all later hashes were computed again: at the next signed head', async () => {
    const rewritten = auditRows(
      ROWS.slice(14).map(({ createdAtMs }) => auditEntry({ target: 'another', at: createdAtMs })),
      row(ROWS, 13),
    )
    const { findings } = await verify([...ROWS.slice(0, 14), ...rewritten])

    expect(kinds(findings)).toEqual(['rewritten 20', 'rewritten 30', 'rewritten 40', 'rewritten 50'])
  })
})

describe('a removed record is found', () => {
  test('in the middle', async () => {
    const { findings } = await verify(ROWS.filter(({ sequence }) => sequence < 17 || sequence > 19))

    expect(findings).toEqual([{ kind: 'removed', sequence: 17, detail: 'records 17 to 19 are missing' }])
  })

  test('at the end', async () => {
    expect(kinds((await verify(ROWS.slice(0, 49))).findings)).toEqual(['removed 50'])
    expect(kinds((await verify([])).findings)).toEqual(['removed 1'])
  })

  test('at the end, where the head was reset to an earlier signed one', async () => {
    const setBack: SignedPlaces = { ...PLACES, head: { kind: 'signed', head: dayOf(row(ROWS, 29), 1) } }

    expect(kinds((await verify(ROWS.slice(0, 30), setBack)).findings)).toEqual(['removed 31'])
  })

  test('at the beginning, before the end of its retention', async () => {
    expect(kinds((await verify(ROWS.slice(3))).findings)).toEqual(['removed 1'])
    expect(kinds((await verify(ROWS.slice(13))).findings)).toEqual(['removed 1'])
  })

  test('but not one that was deleted after its retention', async () => {
    const afterDays = (days: number) => START_MS + (400 + days) * DAY_MS

    expect((await verify(ROWS.slice(10), PLACES, afterDays(1))).findings).toEqual([])
    expect((await verify([], PLACES, afterDays(6))).findings).toEqual([])
    expect(kinds((await verify(ROWS.slice(30), PLACES, afterDays(0))).findings)).toEqual(['removed 11'])
  })
})

test('moved records are found with their original sequence numbers', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.integer({ min: 1, max: 50 }), { minLength: 2, maxLength: 2 }),
      fc.boolean(),
      async ([one = 0, other = 0], withHash) => {
        const moved = (from: number, to: AuditLogRow): AuditLogRow => {
          const { sequence, hash } = to
          return { ...row(ROWS, from - 1), sequence, ...(withHash ? {} : { hash }) }
        }
        const rows = ROWS.map((kept) =>
          kept.sequence === one ? moved(other, kept) : kept.sequence === other ? moved(one, kept) : kept,
        )
        const { findings } = await verify(rows)

        const foundAt = (here: number, there: number) => ({
          kind: 'reordered',
          sequence: here,
          detail: `record ${here} had the sequence number ${there}`,
        })
        expect(findings).toEqual(
          one < other ? [foundAt(one, other), foundAt(other, one)] : [foundAt(other, one), foundAt(one, other)],
        )
      },
    ),
  )
})

test('an inserted record is found', async () => {
  const forged = row(auditRows([auditEntry({ target: 'another' })], row(ROWS, 9)), 0)

  expect(kinds((await verify([...ROWS.slice(0, 11), forged, ...ROWS.slice(11)])).findings)).toEqual(['repeated 11'])
  expect(kinds((await verify([...ROWS.slice(0, 10), forged, ...ROWS.slice(10)])).findings)).toContain('repeated 11')
})

test('an unsigned or forged head is reported', async () => {
  expect(kinds((await verify(ROWS, NOTHING_SIGNED)).findings)).toEqual(['unsigned 50'])
  const { findings } = await verify(ROWS, { ...PLACES, head: { kind: 'forged' }, forged: ['2026-11-03'] })
  expect(kinds(findings)).toEqual(['forged 0', 'forged 0'])
})
