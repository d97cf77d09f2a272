import { describe, expect, test } from 'vitest'
import { type RowDeps, toRow, type Verdict } from '../../../../internal/attribution/records/row.js'
import { deriveTenantIds } from '../../../../internal/ids/ids.js'
import { RowBinaryWriter } from '../../../../internal/store/row-binary.js'
import { ATTRIBUTIONS, type AttributionRow } from '../../../../internal/store/tables/attributions.js'
import { parseQuantity, zero } from '../../../../internal/units/quantity.js'
import type { Consumption } from '../../../../internal/valuation/consumption.js'
import { admitted, idOf, NOW_MS, type Stated } from '../../../support/invocations.js'

const TAKEN_FOR_GRANTED = { isCostImplausible: false, isUsageAmbiguous: false, isUnchargedBound: false }
const CONSUMPTION: Omit<Consumption, keyof typeof TAKEN_FOR_GRANTED> = {
  costUsd: parseQuantity<'USD'>('0.0125') ?? zero(),
  costBasis: 'price_book',
  costBound: '',
  costDetails: '{"book":1}',
  energyWh: parseQuantity<'Wh'>('0.3') ?? zero(),
  energyBasis: 'modelled',
  carbonGco2e: parseQuantity<'gCO2e'>('0.1') ?? zero(),
  carbonBasis: 'modelled',
  footprintDetails: '{"model":1}',
}

const VERDICT: Verdict = {
  service: 'search',
  owner: 'team-search',
  stageOrigin: 'stage_a',
  evidenceBasis: 'identity_and_service_resolved',
  confidence: 9_500,
  outputState: 'deterministically_resolved',
  modelVersion: 'rules-1',
  degradationState: 'none',
  evidence: { service_from: 'event' },
}

const DECLARED = [{ key: 'team', personal: false }]

const depsOf = (consumption: Partial<Consumption> = {}): RowDeps => ({
  dimensionsOf: () => DECLARED,
  logId: 1_700_000_000,
  consumptionOf: () => ({ ...TAKEN_FOR_GRANTED, ...CONSUMPTION, ...consumption }),
  identityKeyOf: (tenantId) => deriveTenantIds(new Uint8Array(32).fill(5), tenantId).sip,
  identityNameOf: (_, stated) => (stated === 'ada.l' ? 'ada' : stated),
  residencyRegionOf: () => 'eu-central-1',
  isIndexStale: () => false,
})

interface Asked {
  readonly stated?: Stated
  readonly verdict?: Partial<Verdict>
  readonly consumption?: Partial<Consumption>
}

const rowOf = ({ stated = {}, verdict = {}, consumption = {} }: Asked = {}): AttributionRow =>
  toRow(admitted(stated), { ...VERDICT, ...verdict }, { partition: 3, validFromMs: NOW_MS + 7 }, depsOf(consumption))

const bytesOf = (row: AttributionRow): Buffer => {
  const writer = new RowBinaryWriter()
  ATTRIBUTIONS.write(writer, row)
  return writer.take()
}

test.each([
  ['states no tokens', { inputTokens: undefined, outputTokens: undefined }, 'unknown'],
  ['states tokens', { inputTokens: 10 }, 'reported'],
  ['was cancelled', { inputTokens: 10, outcome: 'cancelled' }, 'partial'],
  [
    'was cancelled and states no tokens',
    { inputTokens: undefined, outputTokens: undefined, outcome: 'cancelled' },
    'unknown',
  ],
  ['says how it knows them', { inputTokens: 10, outcome: 'cancelled', usageBasis: 'estimated' }, 'estimated'],
] as const)('the usage of a call that %s', (_, invocation, usageBasis) => {
  expect(rowOf({ stated: { invocation } })).toMatchObject({
    usageBasis,
    outcome: 'outcome' in invocation ? 'cancelled' : '',
  })
})

test('a row keeps the intake that its event came through', () => {
  expect(rowOf({ stated: { intake: 'otlp' } }).intake).toBe('otlp')
  expect(rowOf().intake).toBe('')
})

describe('a row', () => {
  test('says who, what it cost, how sure that is, and where the event stood', () => {
    const stated = {
      id: idOf(9),
      position: { sequence: 11, index: 2 },
      receivedAtMs: NOW_MS + 5,
      invocation: { traceId: 'trace' },
    }

    expect(rowOf({ stated })).toMatchObject({
      ...CONSUMPTION,
      tenantId: 'tnt_one',
      id: idOf(9),
      eventTimeMs: NOW_MS,
      validFromMs: NOW_MS + 7,
      service: 'search',
      owner: 'team-search',
      confidence: 9_500,
      confidenceBand: 'chargeback_ready',
      exportEligibility: 'eligible',
      freshness: 'fresh',
      evidence: '{"service_from":"event","confidence":"0.9500"}',
      principal: 'key_one',
      traceId: 'trace',
      receivedAtMs: NOW_MS + 5,
      sourcePartition: 3,
      sourceSequence: 11,
      sourceIndex: 2,
    })
  })

  test('made twice of the same event is the same bytes, as a repeated insert must be', () => {
    const stated = { invocation: { attributedIdentity: 'ada', tags: { b: '1', a: '2' }, estimatedCostUsd: '0.1' } }

    expect(bytesOf(rowOf({ stated })).equals(bytesOf(rowOf({ stated })))).toBe(true)
  })

  test('has all tags of its event, and those that the tenant has declared as dimensions', () => {
    const tags = { Team: 'payments', release: '7' }

    expect(rowOf({ stated: { invocation: { tags } } })).toMatchObject({ tags, dimensions: ['team\tpayments'] })
  })

  test('serves the requested model where no other is stated', () => {
    expect(rowOf({ stated: { invocation: { requestedModel: 'a' } } }).servedModel).toBe('a')
    expect(rowOf({ stated: { invocation: { requestedModel: 'a', servedModel: 'b' } } }).servedModel).toBe('b')
  })

  test('keeps an absent count apart from a count of zero', () => {
    const { inputTokens, outputTokens } = rowOf({ stated: { invocation: { inputTokens: 0, outputTokens: undefined } } })

    expect([inputTokens, outputTokens]).toEqual([0, undefined])
  })

  test('keeps the estimate of the client exactly, beside the cost that counts', () => {
    const row = rowOf({ stated: { invocation: { estimatedCostUsd: '99999999999999999999.999999999999999999' } } })

    expect(row.estimatedCostUsd).toBe(10n ** 38n - 1n)
    expect(row.costUsd).toBe(CONSUMPTION.costUsd)
  })
})

describe('confidence', () => {
  test('is capped by what the event states, and band and eligibility follow', () => {
    expect(rowOf({ stated: { invocation: { attributionConfidence: 0.7999 } } })).toMatchObject({
      confidence: 7_999,
      confidenceBand: 'provisional',
      exportEligibility: 'below_floor',
    })
  })

  test('is not raised by what the event states', () => {
    expect(
      rowOf({ verdict: { confidence: 7_000 }, stated: { invocation: { attributionConfidence: 0.95 } } }).confidence,
    ).toBe(7_000)
  })
})

test('a record without a price is not eligible, however sure it is', () => {
  expect(rowOf({ consumption: { costBasis: 'unpriced', costUsd: zero() } }).exportEligibility).toBe('unpriced')
  expect(rowOf({ consumption: { costBasis: 'local_cache', costUsd: zero() } }).exportEligibility).toBe('eligible')
})

test('a record of a call in another region than the tenant’s is restricted, however sure it is', () => {
  const inRegion = (region: string | undefined) => rowOf({ stated: { invocation: { region } } }).exportEligibility

  expect(inRegion('us-east-1')).toBe('residency_restricted')
  expect([inRegion('eu-central-1'), inRegion(undefined)]).toEqual(['eligible', 'eligible'])
})

describe('the identity', () => {
  const hashOf = (attributedIdentity: string | undefined, tenantId = 'tnt_one'): string =>
    Buffer.from(rowOf({ stated: { tenantId, invocation: { attributedIdentity } } }).identityHash).toString('hex')

  test('is kept as a hash of its tenant’s own, zeros for nobody', () => {
    expect(hashOf('ada')).toMatch(/^[0-9a-f]{32}$/)
    expect(hashOf('ada')).toBe(hashOf('ada'))
    expect(hashOf('ada')).not.toBe(hashOf('ada', 'tnt_two'))
    expect(hashOf('ada')).not.toBe(hashOf('Ada'))
    expect(hashOf(undefined)).toBe('00'.repeat(16))
  })

  test('is one under all names that the directory knows of it', () => {
    expect(hashOf('ada.l')).toBe(hashOf('ada'))
  })

  test('stands in no byte of the row', () => {
    const row = rowOf({ stated: { invocation: { attributedIdentity: 'ada.lovelace@example.com' } } })

    expect(bytesOf(row).includes('lovelace')).toBe(false)
  })
})

test('the evidence is stored as JSON with the confidence before any cap, whatever else it has', () => {
  const stored = (evidence: object) => JSON.parse(rowOf({ verdict: { evidence, confidence: 9_500 } }).evidence)

  expect(stored({ service_from: 'event' })).toEqual({ service_from: 'event', confidence: '0.9500' })
  expect(stored({ owner_from: undefined })).toEqual({ confidence: '0.9500' })
})
