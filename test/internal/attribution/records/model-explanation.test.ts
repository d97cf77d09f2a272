import { expect, test } from 'vitest'
import { explainInference } from '../../../../internal/attribution/records/model-explanation.js'

const stored = (stated: Partial<Parameters<typeof explainInference>[0]> = {}) => ({
  inference: JSON.stringify({ probability: '0.9731', unknown_probability: '0.0100', alternatives: [] }),
  evidence: JSON.stringify({ model: 'mdl_one', passed_validation: true }),
  evidence_basis: 'trained_inference',
  confidence: '0.9500',
  ...stated,
})

test('a record that was not inferred has no inference', () => {
  expect(explainInference(stored({ inference: '' }))).toBeNull()
})

test.each([
  ['the policy', stored(), [['policy', '0.9500']]],
  [
    'validation that was not passed',
    stored({ evidence: JSON.stringify({ passed_validation: false }), confidence: '0.7999' }),
    [
      ['policy', '0.9500'],
      ['not_validated', '0.7999'],
    ],
  ],
  [
    'the baseline',
    stored({
      inference: JSON.stringify({ probability: '0.7000', alternatives: [] }),
      evidence: '{}',
      evidence_basis: 'heuristic_baseline',
      confidence: '0.6',
    }),
    [
      ['policy', '0.9500'],
      ['baseline', '0.6000'],
    ],
  ],
  [
    'what the producer says of its own attribution',
    stored({ confidence: '0.57' }),
    [
      ['policy', '0.9500'],
      ['producer', '0.5700'],
    ],
  ],
])('the confidence is the least of the probability and the caps: %s', (_, record, caps) => {
  const explained = explainInference(record) as {
    readonly probability: string
    readonly caps: readonly { readonly cap: string; readonly at: string }[]
  }

  expect(explained.caps.map(({ cap, at }) => [cap, at])).toEqual(caps)
  const least = Math.min(Number(explained.probability), ...explained.caps.map(({ at }) => Number(at)))
  expect(least).toBe(Number(record.confidence))
})
