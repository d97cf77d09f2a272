import { randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type AuditActorDeps, auditActor } from '../../../internal/audit/audit-actor.js'
import { createAuditSink } from '../../../internal/audit/audit-sink.js'
import { type Heads, signedHeads } from '../../../internal/audit/heads.js'
import { type AuditVerification, verifyAuditLog } from '../../../internal/audit/verify-audit.js'
import type { AuditEntry } from '../../../internal/auth/audit-entry.js'
import { publishOrThrow } from '../../../internal/broker/publisher.js'
import { lastAuditRecords, listAuditLog, streamAuditLog } from '../../../internal/store/queries/audit-log.js'
import { insertRows } from '../../../internal/store/sink.js'
import { AUDIT_LOG } from '../../../internal/store/tables/audit-log.js'
import { AUDIT, AUDIT_CHECKPOINT, AUDIT_OF_ALL, auditLogName, auditSubject } from '../../../streams/audit.js'
import { AUDIT_DAYS, AUDIT_HEADS } from '../../../streams/buckets.js'
import { auditEntry } from '../../support/audit.js'
import { type Database, openDatabase } from '../../support/database.js'
import { type LogBroker, launchLogBroker, startPlannedLog } from '../../support/planned-logs.js'

const KEY = new Uint8Array(32).fill(3)

let store: Database
let broker: LogBroker
let heads: Heads
/** Each test has its own tenant. */
let tenantId: string

beforeAll(async () => {
  store = await openDatabase()
  broker = await launchLogBroker()
  heads = signedHeads(await broker.bucket(AUDIT_HEADS), await broker.bucket(AUDIT_DAYS), KEY)
})

beforeEach(() => {
  tenantId = `tnt_${randomUUID().replaceAll('-', '')}`
})

const deps = (): AuditActorDeps => ({
  publish: broker.publish,
  publishTogether: broker.publishTogether,
  insert: (rows, token) => insertRows(store.client, AUDIT_LOG, rows, token),
  lastOf: (tenantIds) => lastAuditRecords(store.client, tenantIds),
  heads,
  log: broker.deps.log,
})

/** The writer in one process. */
const start = (changed: Partial<AuditActorDeps> = {}) =>
  startPlannedLog(auditActor({ ...deps(), ...changed }), broker.deps)

const untilDone = (): Promise<void> => broker.untilDone(AUDIT_CHECKPOINT, AUDIT.name, AUDIT_OF_ALL)

async function record(...entries: readonly Partial<AuditEntry>[]): Promise<void> {
  const sink = createAuditSink({ publish: broker.publish, clock: Date.now, log: broker.deps.log })
  for (const entry of entries) {
    const { repeats: _, ...whole } = auditEntry({ tenantId, at: Date.now(), ...entry })
    await sink.record(whole)
  }
  await sink.close()
}

async function written(): Promise<void> {
  const writer = start()
  await untilDone()
  await writer.stop()
}

async function verify(ofTenant: string | null = tenantId): Promise<AuditVerification> {
  const log = auditLogName(ofTenant)
  const places = { head: await heads.read(log), ...(await heads.readDays(log)) }
  return verifyAuditLog(streamAuditLog(store.client, ofTenant ?? ''), places, Date.now())
}

const targets = async (): Promise<string[]> => {
  const all = { before: undefined, action: undefined, actor: undefined, outcome: undefined }
  const question = { tenantId, ...all, fromMs: undefined, toMs: undefined, limit: 100 }
  const rows = await listAuditLog(store.client, question, new AbortController().signal)
  return rows.map(({ sequence, target }) => `${sequence} ${target}`)
}

test('audit entries are written to their tenant’s log as a chain, and its head is signed', async () => {
  await record(
    { target: 'first' },
    { tenantId: null, actor: 'cli', action: 'signing_key.rotate' },
    { target: 'second' },
  )
  await written()
  await record({ target: 'third' })
  await written()

  expect(await targets()).toEqual(['3 third', '2 second', '1 first'])
  expect(await verify()).toEqual({ records: 3, first: 1, last: 3, signed: 3, findings: [] })
  expect(await verify(null)).toEqual({ records: 1, first: 1, last: 1, signed: 1, findings: [] })
})

test('a batch of audit entries is written once, in the same chain, wherever the process crashes', async () => {
  await record({ target: 'one' }, { target: 'two' })
  const first = start({ insert: async () => first.die() })
  await first.dead
  await record({ target: 'three' })
  const second = start({
    async insert(rows, token) {
      await deps().insert(rows, token)
      second.die()
    },
  })
  await second.dead
  const third = start({ heads: { ...heads, keep: async () => third.die() } })
  await third.dead
  const fourth = start({
    heads: {
      ...heads,
      async keep(...place) {
        await heads.keep(...place)
        fourth.die()
      },
    },
  })
  await fourth.dead
  await written()
  await record({ target: 'four' })
  await written()

  expect(await targets()).toEqual(['4 four', '3 three', '2 two', '1 one'])
  expect(await verify()).toMatchObject({ records: 4, signed: 4, findings: [] })
})

test('an audit log whose signed head was lost continues after its last record, and records the loss', async () => {
  await record({ target: 'one' }, { target: 'two' })
  await written()
  await (await broker.bucket(AUDIT_HEADS)).purge(tenantId)
  await record({ target: 'three' })
  const dying = start({ insert: async () => dying.die() })
  await dying.dead
  await written()
  await record({ target: 'four' })
  await written()

  expect(await targets()).toEqual(['5 four', '4 ', '3 three', '2 two', '1 one'])
  expect(await verify()).toMatchObject({ signed: 5, findings: [{ kind: 'unsigned', sequence: 4 }] })
})

test('an audit log is not signed again before the loss of its head is recorded', async () => {
  await record({ target: 'one' })
  await written()
  await (await broker.bucket(AUDIT_HEADS)).purge(tenantId)
  await record({ target: 'two' })
  const refusing = start({
    async publish(subject, ...more) {
      if (subject === auditSubject(tenantId)) refusing.die()
      return broker.publish(subject, ...more)
    },
  })
  await refusing.dead

  expect(await heads.read(tenantId)).toEqual({ kind: 'missing' })
  await written()
  expect((await verify()).findings).toMatchObject([{ kind: 'unsigned', sequence: 3 }])
})

test('an unreadable audit message is quarantined, and the others are processed', async () => {
  const data = Buffer.from('{"not":"an entry"}')
  await record({ target: 'one' })
  await publishOrThrow(broker.publish, auditSubject(tenantId), data, randomUUID())
  await record({ target: 'two' })
  await written()

  expect(await targets()).toEqual(['2 two', '1 one'])
  const kept = await broker.manager.direct.getMessage('QUARANTINE', { last_by_subj: 'quarantine.audit' })
  expect(Buffer.from(kept?.data ?? [])).toEqual(data)
  expect([kept?.header.get('Attribution-Reason'), kept?.header.get('Attribution-Log')]).toEqual([
    'unreadable_message: Error',
    auditSubject(tenantId),
  ])
})

test('a flood of refusals becomes a few records that count all of them', async () => {
  await record(...Array.from({ length: 200 }, () => ({ outcome: 'refused', errorCode: 'INSUFFICIENT_SCOPE' }) as const))
  await written()

  const { records, findings } = await verify()
  let counted = 0
  for await (const { repeats } of streamAuditLog(store.client, tenantId)) counted += repeats
  expect([records, counted, findings]).toEqual([21, 200, []])
})

test('record() rejects when the broker does not accept the entry', async () => {
  const sink = createAuditSink({
    publish: async () => ({ kind: 'unavailable', reason: 'timeout' }),
    clock: Date.now,
    log: broker.deps.log,
  })

  await expect(sink.record(auditEntry())).rejects.toThrow()
  await sink.close()
})

describe('audit rows that a database administrator has altered are found', () => {
  beforeEach(async () => {
    await record(...Array.from({ length: 6 }, (_, i) => ({ target: `target-${i + 1}`, changes: { after: { i } } })))
    await written()
  })

  const alter = (statement: string): Promise<unknown> =>
    store.client.command({
      query: `ALTER TABLE audit_log ${statement} AND tenant_id = '${tenantId}'`,
      clickhouse_settings: { mutations_sync: '1' },
    })
  const found = async (): Promise<string[]> =>
    (await verify()).findings.map(({ kind, sequence }) => `${kind} ${sequence}`)

  test.each([
    [`actor = 'key_other'`],
    [`target = 'another'`],
    [`outcome = 'refused'`],
    [`changes = '{"after":{"i":9}}'`],
    [`trace_id = ''`],
    [`hash = unhex('${'ab'.repeat(32)}')`],
  ])('changed: %s', async (assignment) => {
    await alter(`UPDATE ${assignment} WHERE sequence = 3`)

    expect(await found()).toEqual(['changed 3'])
  })

  test('removed: one, several, the first, the last', async () => {
    await alter('DELETE WHERE sequence = 3')
    expect(await found()).toEqual(['removed 3'])
    await alter('DELETE WHERE sequence = 1')
    expect(await found()).toEqual(['removed 1', 'removed 3'])
    await alter('DELETE WHERE sequence > 5')
    expect(await found()).toEqual(['removed 1', 'removed 3', 'removed 6'])
  })

  /** Replaces the rows of the log by copies with these columns changed. */
  async function rewrite(columns: string): Promise<void> {
    const copy = `copy_${tenantId}`
    const statements = [
      `CREATE TABLE ${copy} AS audit_log`,
      `INSERT INTO ${copy} SELECT * REPLACE (${columns}) FROM audit_log WHERE tenant_id = '${tenantId}'`,
      `ALTER TABLE audit_log DELETE WHERE tenant_id = '${tenantId}' SETTINGS mutations_sync = 1`,
      `INSERT INTO audit_log SELECT * FROM ${copy}`,
    ]
    for (const query of statements) await store.client.command({ query })
  }

  test('changed: the time of one', async () => {
    await rewrite('if(sequence = 3, created_at + 1, created_at) AS created_at')

    expect(await found()).toEqual(['changed 3'])
  })

  test('reordered: two that were swapped', async () => {
    await rewrite('transform(sequence, [2, 4], [4, 2], sequence) AS sequence')

    expect(await found()).toEqual(['reordered 2', 'reordered 4'])
  })

  test('truncated at the end, also after a restart of the writer, which keeps the gap', async () => {
    await alter('DELETE WHERE sequence > 4')
    await record({ target: 'later' })
    await written()

    expect(await targets()).toContain('7 later')
    expect(await found()).toEqual(['removed 5'])
  })

  test('truncated at the end together with all signed heads, also after further records', async () => {
    await alter('DELETE WHERE sequence > 4')
    await (await broker.bucket(AUDIT_HEADS)).purge(tenantId)
    await (await broker.bucket(AUDIT_DAYS)).purge(`${tenantId}.${new Date().toISOString().slice(0, 10)}`)
    await record(...Array.from({ length: 4 }, () => ({ target: 'later' })))
    await written()
    await record({ target: 'much later' })
    await written()

    expect(await found()).toEqual(['unsigned 9'])
  })

  test('truncated at the end together with the head of the log, but not that of the day', async () => {
    await alter('DELETE WHERE sequence > 4')
    await (await broker.bucket(AUDIT_HEADS)).purge(tenantId)
    await record({ target: 'later' })
    await written()

    expect((await found()).sort()).toEqual(['removed 5', 'unsigned 8'])
  })

  test('inserted after the last, also after a restart of the writer, which does not chain to it', async () => {
    await store.client.command({
      query: `INSERT INTO audit_log SELECT * REPLACE (7 AS sequence)
              FROM (SELECT * FROM audit_log WHERE tenant_id = '${tenantId}' AND sequence = 6)`,
    })
    await record({ target: 'later' })
    await written()

    expect(await found()).toContain('repeated 7')
  })

  test('a head that was signed without the instance’s key', async () => {
    const stranger = signedHeads(await broker.bucket(AUDIT_HEADS), await broker.bucket(AUDIT_DAYS), new Uint8Array(32))
    await alter('DELETE WHERE sequence > 4')
    await (await broker.bucket(AUDIT_HEADS)).purge(tenantId)
    const [last] = await lastAuditRecords(store.client, [tenantId])
    const place = { sequence: 4, hash: last?.hash ?? '', created_at: new Date().toISOString() }
    await stranger.keep(tenantId, place, 1, Date.now() + 24 * 60 * 60 * 1000)

    expect(await found()).toEqual(['forged 0', 'forged 0', 'removed 5'])
  })
})
