import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Invocation } from '../../../../internal/invocations/invocation.js'
import type { AdmittedInvocation } from '../../../../internal/invocations/invocation-group.js'
import { readUsage } from '../../../../internal/usage/read-usage.js'
import type { StoredConvention } from '../../../../internal/valuation/conventions/convention.js'
import { readByConvention, usageConventions } from '../../../../internal/valuation/conventions/read-by-convention.js'
import { call } from '../../../support/attribution-events.js'

const NOVEMBER = '2026-11-01T00:00:00.000Z'
const convention = (stated: Partial<StoredConvention>): StoredConvention => ({
  id: 'ucv_1',
  tenant_id: 't',
  sender: 'acme.tracer',
  provider: null,
  cache: null,
  reasoning: null,
  valid_from: NOVEMBER,
  valid_to: null,
  created_at: NOVEMBER,
  ...stated,
})

const TWO = { inputTokens: 1_000, outputTokens: 50, alternativeInputTokens: 1_400, alternativeOutputTokens: 50 }
const sent = (stated: Partial<Invocation>, intake?: string): AdmittedInvocation => {
  const eventTimeMs = Date.parse('2026-11-10T00:00:00Z')
  const invocation = call({ ...TWO, instrumentation: 'acme.tracer', eventTimeMs, ...stated })
  return { tenantId: 't', invocation, ...(intake && { intake }) } as AdmittedInvocation
}
const inputBy = (conventions: readonly Partial<StoredConvention>[], event: AdmittedInvocation) =>
  readByConvention(event, usageConventions(conventions.map(convention)))?.invocation.inputTokens

describe('which convention holds', () => {
  test('that of the sender, whatever the case of its name; of calls without a scope, that of their intake', () => {
    const apart = { cache: 'apart' } as const
    expect(inputBy([{ ...apart, sender: ' Acme.Tracer' }], sent({}))).toBe(1_400)
    expect(inputBy([{ ...apart, sender: 'other' }], sent({}))).toBeUndefined()
    expect(inputBy([{ ...apart, sender: 'kong' }], sent({ instrumentation: undefined }, 'kong'))).toBe(1_400)
    expect(inputBy([{ ...apart, sender: 'api' }], sent({ instrumentation: undefined }))).toBe(1_400)
  })

  test('while it holds, that of the provider first, under any of its names, then the latest', () => {
    const inside = { cache: 'inside' } as const
    const apart = { cache: 'apart', valid_from: '2026-11-05T00:00:00.000Z' } as const
    expect(inputBy([inside, apart], sent({}))).toBe(1_400)
    expect(inputBy([{ ...inside, provider: 'gcp.vertex_ai' }, apart], sent({ provider: 'vertex_ai' }))).toBe(1_000)
    expect(inputBy([apart], sent({ eventTimeMs: Date.parse('2026-11-04T23:59:59.999Z') }))).toBeUndefined()
    expect(inputBy([{ ...apart, valid_to: '2026-11-10T00:00:00.000Z' }], sent({}))).toBeUndefined()
  })

  test('it decides nothing where it says nothing, or where one sum is split in two ways', () => {
    expect(inputBy([{ reasoning: 'apart' }], sent({}))).toBeUndefined()
    const both = { cache: 'apart', reasoning: 'inside' } as const
    expect(inputBy([both], sent({ alternativeOutputTokens: 40 }))).toBeUndefined()
    expect(inputBy([both], sent({ assumptions: 'provider_from_host,tool_use_apart_by_size' }))).toBeUndefined()
    expect(inputBy([both], sent({ alternativeInputTokens: undefined, alternativeOutputTokens: undefined }))).toBe(
      undefined,
    )
  })
})

/** Providers whose own API keeps one of the parts apart: what an unknown scope makes of it, nothing tells. */
const SENDERS = [
  { provider: 'anthropic', places: ['inside', 'apart'], other: ['inside'] },
  { provider: 'gcp.gemini', places: ['inside'], other: ['inside', 'apart'] },
] as const

test('whatever a sender states, its convention gives what it meant, also once it has been read so', () => {
  const count = fc.integer({ min: 1, max: 1_000_000 })
  const sender = fc.constantFrom(...SENDERS).chain(({ provider, places, other }) =>
    fc.record({
      provider: fc.constant(provider),
      cache: fc.constantFrom(...places),
      reasoning: fc.constantFrom(...other),
    }),
  )
  fc.assert(
    fc.property(sender, count, count, count, count, ({ provider, cache, reasoning }, fresh, cached, said, thought) => {
      const input = cache === 'inside' ? fresh + cached : fresh
      const output = reasoning === 'inside' ? said + thought : said
      const read = readUsage(
        { input, output, cacheRead: cached, reasoning: thought },
        { surface: 'otlp', name: 'acme.tracer', provider },
      )
      const event = sent({
        provider,
        inputTokens: read.input_tokens,
        outputTokens: read.output_tokens,
        alternativeInputTokens: read.alternative_input_tokens,
        alternativeOutputTokens: read.alternative_output_tokens,
        usageBasis: 'ambiguous',
      })
      const chosen = usageConventions([convention({ cache, reasoning })])
      const once = readByConvention(event, chosen)
      // Without another reading, the sizes alone have told that the parts stand apart.
      const counted = once?.invocation ?? event.invocation
      expect([counted.inputTokens, counted.outputTokens]).toEqual([fresh + cached, said + thought])
      if (once === undefined) return
      expect(once.invocation.usageBasis).toBeUndefined()
      const again = readByConvention({ ...event, invocation: once.invocation }, chosen)
      expect(again?.invocation).toEqual(once.invocation)
    }),
  )
})
