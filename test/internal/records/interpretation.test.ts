import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  bandOf,
  CHARGEBACK_FLOOR,
  CONFIDENCE_CAP,
  capConfidence,
  eligibilityOf,
  freshnessOf,
  pathwayOf,
} from '../../../internal/records/interpretation.js'

/** Ten-thousandths, as decimal text that JSON may carry. */
const stated = fc
  .integer({ min: 0, max: 9_500 })
  .map((tenThousandths) => ({ tenThousandths, number: tenThousandths / 10_000 }))
const confidences = fc.integer({ min: 0, max: 9_500 })

describe('bands', () => {
  test.each([
    [9_500, 'chargeback_ready'],
    [8_000, 'chargeback_ready'],
    [7_999, 'provisional'],
    [5_000, 'provisional'],
    [4_999, 'estimated'],
    [0, 'estimated'],
  ])('%i ten-thousandths are %s', (confidence, band) => {
    expect(bandOf(confidence)).toBe(band)
  })
})

describe('the cap on confidence', () => {
  test('is 0.95 where the event states none', () => {
    expect(capConfidence(9_500, undefined)).toBe(9_500)
    expect(capConfidence(9_501, undefined)).toBe(9_500)
    expect(capConfidence(100, undefined)).toBe(100)
  })

  test('is the smallest of evidence, policy and what the event states', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 20_000 }), stated, (confidence, { tenThousandths, number }) => {
        expect(capConfidence(confidence, number)).toBe(Math.min(confidence, tenThousandths, CONFIDENCE_CAP))
      }),
    )
  })

  test('cuts a stated confidence and never rounds it up over the floor', () => {
    expect(capConfidence(9_500, 0.79999)).toBe(7_999)
    expect(capConfidence(9_500, 0.79999999999999)).toBe(7_999)
    expect(capConfidence(9_500, 0.8)).toBe(CHARGEBACK_FLOOR)
  })

  test('reads 0.57 as 5,700 although its double lies below', () => {
    expect(0.57 * 10_000).toBeLessThan(5_700)
    expect(capConfidence(9_500, 0.57)).toBe(5_700)
  })
})

describe('eligibility', () => {
  const record = {
    confidence: 9_000,
    isPriced: true,
    isNotional: false,
    isCostImplausible: false,
    isUsageAmbiguous: false,
    isCostUpperBound: false,
    isUsageEstimated: false,
    degradationState: 'none',
    isResidencyRestricted: false,
  } as const

  test('needs the floor', () => {
    expect(eligibilityOf({ ...record, confidence: CHARGEBACK_FLOOR })).toBe('eligible')
    expect(eligibilityOf({ ...record, confidence: CHARGEBACK_FLOOR - 1 })).toBe('below_floor')
  })

  test('names the first reason: residency, advisory, notional, implausible, unpriced, bound, below the floor', () => {
    const restricted = {
      confidence: 0,
      isPriced: false,
      isNotional: true,
      isCostImplausible: true,
      isUsageAmbiguous: false,
      isCostUpperBound: false,
      isUsageEstimated: false,
      degradationState: 'degraded_serving',
      isResidencyRestricted: true,
    } as const
    const worst = { ...restricted, isResidencyRestricted: false }

    expect(eligibilityOf(restricted)).toBe('residency_restricted')
    expect(eligibilityOf(worst)).toBe('advisory')
    const notional = { ...worst, degradationState: 'none' } as const
    expect(eligibilityOf(notional)).toBe('notional')
    expect(eligibilityOf({ ...notional, isNotional: false })).toBe('implausible_cost')
    const priced = { ...notional, isNotional: false, isCostImplausible: false }
    expect(eligibilityOf(priced)).toBe('unpriced')
    const bounded = { ...priced, isPriced: true, isCostUpperBound: true, isUsageEstimated: true }
    expect(eligibilityOf(bounded)).toBe('cost_upper_bound')
    expect(eligibilityOf({ ...bounded, isCostUpperBound: false })).toBe('advisory')
    expect(eligibilityOf({ ...priced, isPriced: true })).toBe('below_floor')
  })

  test('is never there for counts that their sender estimated, however sure the rest is', () => {
    fc.assert(
      fc.property(confidences, fc.boolean(), fc.boolean(), (confidence, isPriced, isNotional) => {
        const estimated = { ...record, confidence, isPriced, isNotional, isUsageEstimated: true }
        expect(eligibilityOf(estimated)).toBe(isNotional ? 'notional' : isPriced ? 'advisory' : 'unpriced')
      }),
    )
  })

  test.each(['none', 'disabled', 'model_recalled'] as const)(
    'is not taken away by the state %s',
    (degradationState) => {
      expect(eligibilityOf({ ...record, degradationState })).toBe('eligible')
    },
  )

  test('is there exactly when nothing speaks against it', () => {
    const states = fc.constantFrom('none', 'degraded_serving', 'disabled', 'model_recalled')
    fc.assert(
      fc.property(confidences, fc.boolean(), states, fc.boolean(), (confidence, isPriced, degradationState, away) => {
        const isEligible =
          confidence >= CHARGEBACK_FLOOR && isPriced && degradationState !== 'degraded_serving' && !away
        const facts = {
          confidence,
          isPriced,
          isNotional: false,
          isCostImplausible: false,
          isUsageAmbiguous: false,
          isCostUpperBound: false,
          isUsageEstimated: false,
          degradationState,
          isResidencyRestricted: away,
        }

        expect(eligibilityOf(facts) === 'eligible').toBe(isEligible)
      }),
    )
  })
})

describe('freshness', () => {
  test('is lost when an event is more than an hour older than its arrival', () => {
    expect(freshnessOf(0, 3_600_000, false)).toBe('fresh')
    expect(freshnessOf(0, 3_600_001, false)).toBe('source_stale')
  })

  test('is not lost by an event that is ahead of its arrival', () => {
    expect(freshnessOf(3_600_001, 0, false)).toBe('fresh')
  })

  test('of a copy that lags comes before that of the source', () => {
    expect(freshnessOf(0, 0, true)).toBe('index_stale')
    expect(freshnessOf(0, 3_600_001, true)).toBe('index_stale')
  })
})

describe('pathway', () => {
  test.each([
    ['application', 'application_direct'],
    ['sdk', 'application_direct'],
    ['gateway', 'gateway_mediated'],
    ['GateWay', 'gateway_mediated'],
    ['proxy', 'proxy_mediated'],
    ['sidecar', 'proxy_mediated'],
    ['connector', 'connector_import'],
    ['browser', 'other'],
    ['constructor', 'other'],
  ])('the layer %s is %s', (ingestionLayer, pathway) => {
    expect(pathwayOf({ ingestionLayer }, 'key_one')).toBe(pathway)
  })

  test('a step of a trace is an agent workflow; a trace without a parent is not', () => {
    expect(pathwayOf({ ingestionLayer: 'gateway', traceId: 't', parentSpanId: 's' }, 'key_one')).toBe('agent_workflow')
    expect(pathwayOf({ ingestionLayer: 'gateway', traceId: 't' }, 'key_one')).toBe('gateway_mediated')
    expect(pathwayOf({ ingestionLayer: 'gateway', parentSpanId: 's' }, 'key_one')).toBe('gateway_mediated')
  })

  test('what a partner’s connector sends is a connector’s import, except for a batch and an agent’s step', () => {
    expect(pathwayOf({ ingestionLayer: 'gateway' }, 'con_one')).toBe('connector_import')
    expect(pathwayOf({ ingestionLayer: 'data-cloud', serviceTier: 'batch' }, 'con_one')).toBe('batch')
    expect(pathwayOf({ ingestionLayer: 'data-cloud', traceId: 't', parentSpanId: 's' }, 'con_one')).toBe(
      'agent_workflow',
    )
  })

  test('a batch is a batch, also as a step of a trace', () => {
    expect(
      pathwayOf({ ingestionLayer: 'gateway', serviceTier: 'batch', traceId: 't', parentSpanId: 's' }, 'key_one'),
    ).toBe('batch')
    expect(pathwayOf({ ingestionLayer: 'gateway', serviceTier: 'flex' }, 'key_one')).toBe('gateway_mediated')
  })
})
