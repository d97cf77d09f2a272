import { expect, test } from 'vitest'
import { eventOf } from '../../../../internal/attribution/records/stated-fields.js'
import { admitted } from '../../../support/invocations.js'
import { finishedRow } from '../../../support/rows.js'

const FULL = {
  servedModel: 'gpt-4o-2024-08-06',
  inputTokens: 0,
  outputTokens: 7,
  cachedInputTokens: 3,
  cacheWriteTokens: 2,
  cacheWriteTtlSeconds: 300,
  reasoningTokens: 1,
  audioInputTokens: 2,
  audioOutputTokens: 3,
  cachedAudioInputTokens: 1,
  billedUnits: { seconds: '12.5' },
  alternativeInputTokens: 4,
  speed: 'fast',
  requestId: 'req_9',
  parentSpanId: '00f067aa0ba902b7',
  instrumentation: 'openinference.instrumentation.anthropic',
  operationId: 'op-1',
  attempt: 2,
  assumptions: 'provider_from_host',
  serviceTier: 'flex',
  servedFromCache: true,
  region: 'eu-west-1',
  estimatedCostUsd: '0.000123',
  latencyMs: 1_212,
  attributedIdentity: 'user:jane@example.org',
  attributedService: 'support-chat',
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  attributionConfidence: 0.9,
  tags: { team: 'search' },
  k8sNamespace: 'prod',
  k8sWorkload: 'web',
  workloadIdentity: 'spiffe://x/y',
} as const

const recalled = { ...FULL, servedModel: FULL.servedModel }

test('an event that states every field is the same event when its row is read back', () => {
  const { invocation } = admitted({ invocation: FULL })

  expect(eventOf(finishedRow({ invocation: FULL }), recalled)).toEqual(invocation)
})

test('an optional field that an event does not state is unknown in its row, and undefined when read back', () => {
  const row = finishedRow({
    invocation: { region: undefined, reasoningTokens: undefined, estimatedCostUsd: undefined },
  })

  expect(row).toMatchObject({ region: '', reasoningTokens: undefined, estimatedCostUsd: undefined })
  const { region, reasoningTokens, estimatedCostUsd } = eventOf(row, recalled)
  expect({ region, reasoningTokens, estimatedCostUsd }).toEqual({})
})
