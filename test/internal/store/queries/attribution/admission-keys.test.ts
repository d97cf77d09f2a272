import { randomBytes, randomInt } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  findAdmissionKeys,
  hasAdmissionKeys,
} from '../../../../../internal/store/queries/attribution/admission-keys.js'
import { insertRows } from '../../../../../internal/store/sink.js'
import { ADMISSION_KEYS, type AdmissionKeyRow } from '../../../../../internal/store/tables/admission-keys.js'
import { type Database, openDatabase } from '../../../../support/database.js'

const HOUR_MS = 3_600_000
/** The rows lapse by the engine's own clock. */
const NOW_MS = Math.floor(Date.now() / HOUR_MS) * HOUR_MS

let store: Database

beforeAll(async () => {
  store = await openDatabase()
})

const key = (admittedAtMs: number, stated: Partial<AdmissionKeyRow> = {}): AdmissionKeyRow => ({
  hash: randomBytes(16),
  fingerprint: randomBytes(8),
  flags: randomInt(256),
  admittedAtMs,
  ...stated,
})
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const shown = ({ hash, fingerprint, flags, admittedAtMs }: AdmissionKeyRow): string =>
  `${admittedAtMs} ${hexOf(hash)} ${hexOf(fingerprint)} ${flags}`

const found = async (hashes: readonly Uint8Array[], sinceMs = 0) =>
  [...(await findAdmissionKeys(store.client, hashes, sinceMs))].map(([hash, first]) =>
    shown({ hash: Buffer.from(hash, 'hex'), ...first }),
  )

/** Their rows, which queries by key fold into one. */
async function countOf(rows: readonly AdmissionKeyRow[]): Promise<number> {
  const hashes = rows.map(({ hash }) => `'${hexOf(hash)}'`).join()
  const query = `SELECT toUInt32(count()) FROM ${ADMISSION_KEYS.name} WHERE lower(hex(key_hash)) IN (${hashes})`
  const result = await store.client.query({ query, format: 'JSONCompactEachRow' })
  return (await result.json<[number]>())[0]?.[0] ?? 0
}

describe('admission keys', () => {
  test('are found by their hash, also when several thousand are asked for at once, most of them unknown', async () => {
    const rows = Array.from({ length: 1_000 }, (_, i) => key(NOW_MS - i))
    await insertRows(store.client, ADMISSION_KEYS, rows, 'found')

    const asked = [...rows.map(({ hash }) => hash), ...Array.from({ length: 11_000 }, () => randomBytes(16))]

    expect((await found(asked)).sort()).toEqual(rows.map(shown).sort())
    expect(await found([])).toEqual([])
  })

  test('of one hash count by their earliest admission since the instant', async () => {
    const { hash } = key(0)
    const rows = [NOW_MS - 2, NOW_MS - 1_000, NOW_MS].map((admittedAtMs) => key(admittedAtMs, { hash }))
    for (const [i, row] of rows.entries()) await insertRows(store.client, ADMISSION_KEYS, [row], `one.${i}`)

    expect(await found([hash])).toEqual([shown(rows[1] as AdmissionKeyRow)])
    expect(await found([hash], NOW_MS - 999)).toEqual([shown(rows[0] as AdmissionKeyRow)])
    expect(await found([hash], NOW_MS + 1)).toEqual([])
  })

  test('are there or not between two instants, the second of which does not count', async () => {
    const atMs = NOW_MS - 12 * HOUR_MS
    await insertRows(store.client, ADMISSION_KEYS, [key(atMs)], 'between')

    const between = (fromMs: number, toMs: number) => hasAdmissionKeys(store.client, fromMs, toMs)

    expect(await between(atMs, atMs + 1)).toBe(true)
    expect(await between(atMs - HOUR_MS, atMs)).toBe(false)
    expect(await between(atMs + 1, atMs + HOUR_MS)).toBe(false)
  })

  test('hold any bytes, also those that a text could not', async () => {
    const rows = [0x00, 0x0a, 0x27, 0x5c, 0xff].map((byte) =>
      key(NOW_MS - 123, { hash: Buffer.alloc(16, byte), fingerprint: Buffer.alloc(8, byte) }),
    )
    await insertRows(store.client, ADMISSION_KEYS, rows, 'bytes')

    expect((await found(rows.map(({ hash }) => hash))).sort()).toEqual(rows.map(shown).sort())
  })
})

describe('an insert that is repeated with its token', () => {
  test('changes nothing', async () => {
    const rows = [key(NOW_MS), key(NOW_MS - 20 * HOUR_MS)]

    for (let i = 0; i < 3; i++) await insertRows(store.client, ADMISSION_KEYS, rows, 'repeated')

    expect((await found(rows.map(({ hash }) => hash))).sort()).toEqual(rows.map(shown).sort())
    expect(await countOf(rows)).toBe(2)
  })

  test('completes one that landed in some of its partitions only', async () => {
    const [early, late] = [key(NOW_MS - 20 * HOUR_MS), key(NOW_MS)]
    // What a crash between two parts leaves behind.
    await insertRows(store.client, ADMISSION_KEYS, [early], 'half')

    await insertRows(store.client, ADMISSION_KEYS, [early, late], 'half')

    expect((await found([early.hash, late.hash])).sort()).toEqual([early, late].map(shown).sort())
    expect(await countOf([early, late])).toBe(2)
  })

  test('means something else in another table', async () => {
    const row = key(NOW_MS)
    await store.client.command({ query: 'CREATE TABLE other_keys AS admission_keys' })
    await insertRows(store.client, { ...ADMISSION_KEYS, name: 'other_keys' }, [row], 'both')

    await insertRows(store.client, ADMISSION_KEYS, [row], 'both')

    expect(await found([row.hash])).toEqual([shown(row)])
  })
})
