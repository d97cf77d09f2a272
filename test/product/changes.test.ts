import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { tenantIdsCache } from '../../internal/ids/ids.js'
import { type Ask, askAs, refusalOf } from '../support/ask.js'
import { wireEvent } from '../support/gateway.js'
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

let service: Instance
let ask: Ask

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
})

// biome-ignore lint/suspicious/noExplicitAny: the contract is what is being checked
type Json = any

/** A record of its own, as `GET` shows it. */
async function newRecord(stated: Record<string, unknown> = {}): Promise<Json> {
  const event = wireEvent({ event_id: randomUUID(), ingestion_timestamp: new Date().toISOString(), ...stated })
  const taken = await ask('POST', '/api/v1/invocations', event)
  expect(taken.status).toBe(202)
  const path = `/v1/attribution/${taken.json.invocation_id.replace('inv_', 'attr_')}`
  for (;;) {
    const { status, json } = await ask('GET', path)
    if (status === 200) return json
    await sleep(20)
  }
}

const show = async (id: string): Promise<Json> => (await ask('GET', `/v1/attribution/${id}`)).json
const OVERRIDE = { service: 'support', owner: 'team-support', reason: 'The proxy does not say its service.' }
const DISPUTE = { reason: 'This is not our batch job.' }
const override = (id: string, body: unknown = OVERRIDE) => ask('POST', `/v1/attribution/${id}/override`, body)
const undoOverride = (id: string) => ask('DELETE', `/v1/attribution/${id}/override`)
const dispute = (id: string, body: unknown = DISPUTE) => ask('POST', `/v1/attribution/${id}/dispute`, body)
const undoDispute = (id: string) => ask('DELETE', `/v1/attribution/${id}/dispute`)

/** What of a record does not depend on when its version became valid. */
const timeless = ({ materialized_at: _, explanation: { history: __, ...explanation }, ...record }: Json) => ({
  ...record,
  explanation,
})

describe('an override', () => {
  test('an override changes the attribution, marks it as manual, and keeps the previous version', async () => {
    const before = await newRecord()

    const { status, json } = await override(before.id)
    const after = await show(before.id)

    expect(status).toBe(200)
    expect(json).toMatchObject({
      id: before.id,
      service: 'support',
      owner: 'team-support',
      output_state: 'overridden',
      cost_usd: before.cost_usd,
      interpretation: {
        stage_origin: 'stage_a',
        evidence_basis: 'manual_override',
        confidence: 0.95,
        confidence_band: 'chargeback_ready',
        degradation_state: 'none',
        export_eligibility: 'eligible',
      },
    })
    expect(after).toMatchObject(json)
    expect(after.explanation.evidence).toMatchObject({
      override: { reason: OVERRIDE.reason },
      replaced: { service: before.service, owner: before.owner, evidence_basis: 'service_resolved', confidence: 0.9 },
    })
    expect(after.explanation.history).toMatchObject([
      {
        valid_from: before.materialized_at,
        valid_to: after.materialized_at,
        ended_by: { change: 'override', actor: `key_${service.credentials.api_key.split('_')[2]}` },
        service: before.service,
        output_state: 'deterministically_resolved',
      },
    ])
  })

  test('undoing an override restores the record to the last figure', async () => {
    const before = await newRecord({ attributed_service: undefined, attribution_confidence: 0.3 })
    await override(before.id)

    expect((await undoOverride(before.id)).status).toBe(204)
    const after = await show(before.id)

    expect(before.output_state).toBe('unresolved')
    expect(timeless(after)).toEqual(timeless(before))
    expect(after.explanation.history.map(({ output_state }: Json) => output_state)).toEqual([
      'unresolved',
      'overridden',
    ])
  })

  test('a second override, and undoing without an override, are refused', async () => {
    const { id } = await newRecord()

    expect(refusalOf(await undoOverride(id))).toEqual([409, 'CONFLICT'])
    await override(id)
    expect(refusalOf(await override(id, { ...OVERRIDE, service: 'other' }))).toEqual([409, 'CONFLICT'])
    expect((await show(id)).service).toBe('support')
  })
})

describe('a dispute', () => {
  test('a dispute excludes a record from chargeback until it ends', async () => {
    const before = await newRecord()

    const { status, json } = await dispute(before.id)
    expect(status).toBe(200)
    expect(json).toMatchObject({
      service: before.service,
      output_state: 'disputed',
      interpretation: { ...before.interpretation, export_eligibility: 'disputed' },
    })
    expect(refusalOf(await dispute(before.id))).toEqual([409, 'CONFLICT'])
    expect((await undoDispute(before.id)).status).toBe(204)
    expect(refusalOf(await undoDispute(before.id))).toEqual([409, 'CONFLICT'])

    expect(timeless(await show(before.id))).toEqual(timeless(before))
  })

  test('a dispute outlives the undoing of an override, and an override the end of a dispute', async () => {
    const before = await newRecord()
    await override(before.id)
    const overridden = await show(before.id)

    await dispute(before.id)
    expect(await show(before.id)).toMatchObject({
      service: 'support',
      output_state: 'disputed',
      interpretation: { evidence_basis: 'manual_override' },
      explanation: { evidence: { override: { reason: OVERRIDE.reason }, dispute: { reason: DISPUTE.reason } } },
    })
    await undoDispute(before.id)
    expect(timeless(await show(before.id))).toEqual(timeless(overridden))

    await dispute(before.id)
    await undoOverride(before.id)
    expect(await show(before.id)).toMatchObject({ service: before.service, output_state: 'disputed' })
    await undoDispute(before.id)
    expect(timeless(await show(before.id))).toEqual(timeless(before))
  })
})

test('one request has one effect, however often it is sent', async () => {
  const { id } = await newRecord()
  const key = { 'idempotency-key': randomUUID() }

  const answers = []
  for (let i = 0; i < 3; i++) answers.push(await ask('POST', `/v1/attribution/${id}/override`, OVERRIDE, key))

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(answers[1]?.headers.get('idempotency-replayed')).toBe('true')
  expect((await show(id)).explanation.history).toHaveLength(1)
})

test('of many concurrent overrides of a record one succeeds and the others get a conflict', async () => {
  const { id } = await newRecord()

  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, i) => override(id, { ...OVERRIDE, service: `service-${i}` })),
  )

  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409, 409, 409])
  const won = answers.find(({ status }) => status === 200)?.json
  expect(await show(id)).toMatchObject({ service: won.service, explanation: { history: [{ service: 'search' }] } })
})

test('a change of a missing record, or of another tenant’s, is refused', async () => {
  const { id } = await newRecord()
  const ids = tenantIdsCache(new Uint8Array(32))('tnt_other')
  const foreign = `attr_${Buffer.from(ids.tag).toString('hex')}`.padEnd(31, '0')
  const own = `${id.slice(0, -2)}${id.endsWith('00') ? '10' : '00'}`

  expect(refusalOf(await override(own))).toEqual([404, 'NOT_FOUND'])
  expect(refusalOf(await dispute('attr_nothing'))).toEqual([404, 'NOT_FOUND'])
  expect(refusalOf(await override(foreign))).toEqual([403, 'TENANT_MISMATCH'])
})

test.each([
  ['no reason', { service: 'a', owner: 'b' }],
  ['an empty service', { ...OVERRIDE, service: '' }],
  ['a reason longer than 256 bytes', { ...OVERRIDE, reason: 'x'.repeat(257) }],
  ['a prompt', { ...OVERRIDE, prompt: 'x' }],
])('an override with %s is refused', async (_, body) => {
  const { id } = await newRecord()

  expect(refusalOf(await override(id, body))).toEqual([422, 'VALIDATION_FAILED'])
})

test('the audit log records a change with old and new values', async () => {
  const { id } = await newRecord()
  await override(id)
  await undoOverride(id)
  await dispute(id)
  await undoDispute(id)
  await undoDispute(id)

  let audited: Json[] = []
  while (audited.length < 5) {
    await sleep(50)
    const { json } = await ask('GET', '/api/v1/audit-log?limit=200')
    audited = json.data.filter(({ target }: Json) => target === id)
  }
  expect(audited.map(({ action, outcome }) => `${action} ${outcome}`)).toEqual([
    'attribution.undo_dispute refused',
    'attribution.undo_dispute succeeded',
    'attribution.dispute succeeded',
    'attribution.undo_override succeeded',
    'attribution.override succeeded',
  ])
  expect(audited.at(-1).changes).toMatchObject({
    before: { service: 'search', output_state: 'deterministically_resolved' },
    after: { service: 'support', owner: 'team-support', reason: OVERRIDE.reason },
  })
})
