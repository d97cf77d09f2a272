import { beforeAll, expect, test } from 'vitest'
import { findQuarantined } from '../../../../internal/store/queries/quarantined.js'
import { insertRows } from '../../../../internal/store/sink.js'
import { QUARANTINED, type QuarantinedRow } from '../../../../internal/store/tables/quarantined.js'
import { type Database, openDatabase } from '../../../support/database.js'
import { idOf, NOW_MS } from '../../../support/invocations.js'

let store: Database

beforeAll(async () => {
  store = await openDatabase()
})

const hex = (number: number): string => Buffer.from(idOf(number)).toString('hex')
const row = (number: number, stated: Partial<QuarantinedRow> = {}): QuarantinedRow => ({
  tenantId: 'tnt_one',
  id: idOf(number),
  stage: 'a',
  reason: 'rule_failed: RangeError',
  quarantinedAtMs: NOW_MS,
  ...stated,
})

test('a quarantined event is found with its stage, reason and time, by its own tenant', async () => {
  await insertRows(store.client, QUARANTINED, [row(1), row(2, { tenantId: 'tnt_two' })], 'one')

  expect(await findQuarantined(store.client, 'tnt_one', hex(1))).toEqual({
    stage: 'a',
    reason: 'rule_failed: RangeError',
    quarantinedAtMs: NOW_MS,
  })
  expect(await findQuarantined(store.client, 'tnt_one', hex(2))).toBeUndefined()
  expect(await findQuarantined(store.client, 'tnt_two', hex(1))).toBeUndefined()
})

test('an event that was quarantined again says so by the last time', async () => {
  await insertRows(store.client, QUARANTINED, [row(3, { stage: 'c', quarantinedAtMs: NOW_MS + 1 })], 'second')
  await insertRows(store.client, QUARANTINED, [row(3)], 'first')

  expect(await findQuarantined(store.client, 'tnt_one', hex(3))).toMatchObject({ stage: 'c' })
})
