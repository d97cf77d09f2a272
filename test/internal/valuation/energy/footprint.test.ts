import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Invocation } from '../../../../internal/invocations/invocation.js'
import { formatQuantity, type Quantity, type Unit, zero } from '../../../../internal/units/quantity.js'
import { type Banded, explainFootprint } from '../../../../internal/valuation/energy/explain-footprint.js'
import { footprint, loadFootprintTables } from '../../../../internal/valuation/energy/footprint.js'
import type { TenantGrid } from '../../../../internal/valuation/energy/grid.js'
import { call } from '../../../support/attribution-events.js'
import { readVectors } from '../../../support/vectors/read-vectors.js'

const tables = loadFootprintTables()
const of = (stated: Partial<Invocation>, tenant?: TenantGrid) => footprint(call(stated), tables, { tenant })
const values = (stated: Partial<Invocation>, tenant?: TenantGrid): string[] => {
  const { energyBasis, energyWh, carbonBasis, carbonGco2e } = of(stated, tenant)
  return [`${energyBasis} ${formatQuantity(energyWh)}`, `${carbonBasis} ${formatQuantity(carbonGco2e)}`]
}

test('250 tokens of gpt-4o consume 0.484915706673 Wh and emit 0.196787999672 gCO2e', () => {
  expect(values({})).toEqual(['modelled 0.484915706673', 'modelled 0.196787999672'])
})

test.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])(
  'the model name %s has no special meaning',
  (word) => {
    expect(of({ provider: word })).toEqual(of({ provider: 'nobody' }))
    expect(of({ region: word })).toEqual(of({ region: 'nowhere' }))
    expect(of({ requestedModel: `${word}/${word}` })).toEqual(of({ requestedModel: 'nobody/nothing' }))
  },
)

describe('a measured footprint takes precedence over a modelled one', () => {
  test('for energy and carbon', () => {
    expect(values({ energyWh: '1.50', carbonGco2e: '0.7' })).toEqual(['measured 1.5', 'measured 0.7'])
    expect(of({ energyWh: '1.50', carbonGco2e: '0.7' }).details).toMatchObject({ confidence: 0.95 })
  })

  test('carbon of a measured energy is its usage in the zone, without embodied carbon', () => {
    expect(values({ energyWh: '1.5', region: 'eu-north-1' })).toEqual(['measured 1.5', 'modelled 0.05289'])
    expect(of({ energyWh: '1.5' }).details.notes).toEqual(['carbon_usage_only'])
  })

  test('measured energy of an unknown model still has a zone', () => {
    expect(values({ energyWh: '1', requestedModel: 'in-house' })).toEqual(['measured 1', 'modelled 0.3844'])
  })

  test('measured energy in an unknown place has no carbon', () => {
    expect(values({ energyWh: '1', region: 'mars' })).toEqual(['measured 1', 'unknown 0'])
    expect(of({ energyWh: '1', region: 'mars' }).details.carbon_reason).toBe('unknown_zone')
  })

  test('carbon above the maximum per call is unknown, and its measured energy is kept', () => {
    const most = '999999999999'
    const tenant: TenantGrid = { factors: [{ zone: 'SWE', gramsPerKwh: '1000.00000001', source: 'own' }] }
    const stated = { energyWh: most, region: 'eu-north-1' }

    expect(values(stated, tenant)).toEqual([`measured ${most}`, 'unknown 0'])
    expect(of(stated, tenant).details).toMatchObject({ energy_basis: 'measured', carbon_reason: 'beyond_range' })
    expect(of(stated, tenant).details.grid).toBeUndefined()
    // The next such event has its own details.
    expect(values({ ...stated, energyWh: '1' }, tenant)).toEqual(['measured 1', 'modelled 1.00000000001'])
  })

  test('for a hit in the local cache', () => {
    const cached = { servedFromCache: true, region: 'eu-north-1' }

    expect(values({ ...cached, energyWh: '1.5' })).toEqual(['measured 1.5', 'modelled 0.05289'])
    expect(values({ ...cached, energyWh: '1.5', carbonGco2e: '2' })).toEqual(['measured 1.5', 'measured 2'])
    expect(values({ ...cached, carbonGco2e: '2' })).toEqual(['modelled 0', 'measured 2'])
    const { details } = of({ ...cached, carbonGco2e: '2' })
    expect(explainFootprint(details, { ...call(cached), carbonGco2e: '2' })).toMatchObject({
      energyWh: 0n,
      carbonGco2e: 2n * 10n ** 18n,
    })
  })

  test('measured carbon is combined with modelled energy', () => {
    expect(values({ carbonGco2e: '0.1' })).toEqual(['modelled 0.484915706673', 'measured 0.1'])
  })
})

test("a tenant's model name has the footprint of the model behind it, shown in the explanation", () => {
  const event = call({ provider: 'azure', requestedModel: 'prod-chat' })
  const renamed = { provider: 'azure', model: 'gpt-4o' }
  const plain = footprint(call({ provider: 'azure', requestedModel: 'gpt-4o' }), tables)

  expect(footprint(event, tables).energyBasis).toBe('unknown')
  expect(footprint(event, tables, { renamed }).energyWh).toBe(plain.energyWh)
  expect(footprint(event, tables, { renamed }).details.model?.match).toEqual(['tenant_override', 'exact'])
  expect(plain.details.model?.match).toEqual(['exact'])
})

describe('a footprint is unknown', () => {
  test.each<[string, Partial<Invocation>]>([
    ['unknown_model', { requestedModel: 'gpt-99' }],
    ['unknown_model', { servedModel: 'gpt-99' }],
    ['no_output_tokens', { outputTokens: undefined }],
    ['zero_output_tokens', { outputTokens: 0 }],
    ['not_text_output', { requestedModel: 'gpt-4o-mini-tts' }],
    ['not_text_output', { audioOutputTokens: 1 }],
  ])('%s', (reason, stated) => {
    expect(values(stated)).toEqual(['unknown 0', 'unknown 0'])
    expect(of(stated).details).toMatchObject({ energy_reason: reason, carbon_reason: reason })
    expect(of(stated).details.confidence).toBeUndefined()
  })

  test('energy above the maximum per call is unknown, and so is its carbon', () => {
    const stated = { outputTokens: Number.MAX_SAFE_INTEGER }

    expect(values(stated)).toEqual(['unknown 0', 'unknown 0'])
    expect(of(stated).details).toMatchObject({ energy_reason: 'beyond_range', carbon_reason: 'beyond_range' })
    expect(values({ ...stated, carbonGco2e: '1' })).toEqual(['unknown 0', 'measured 1'])
    expect(explainFootprint(of(stated).details, call(stated))).toMatchObject({ energyWh: 0n, carbonGco2e: 0n })
  })

  test('carbon above the maximum per call is unknown, and its modelled energy is kept', () => {
    const tenant: TenantGrid = { factors: [{ zone: 'USA', gramsPerKwh: '999999.9', source: 'own' }] }
    const stated = { outputTokens: 10 ** 13, latencyMs: 1 }
    const { details, energyWh, carbonGco2e } = of(stated, tenant)

    expect(details).toMatchObject({ energy_basis: 'modelled', carbon_basis: 'unknown', carbon_reason: 'beyond_range' })
    expect([energyWh > 0n, carbonGco2e]).toEqual([true, 0n])
    expect(explainFootprint(details, call(stated))).toMatchObject({ energyWh, carbonGco2e })
  })

  test('an unknown place makes only the carbon unknown', () => {
    expect(values({ region: 'mars' })).toEqual(['modelled 0.484915706673', 'unknown 0'])
  })

  test('a hit in the local cache has a known footprint of zero', () => {
    expect(values({ servedFromCache: true, outputTokens: undefined })).toEqual(['modelled 0', 'modelled 0'])
    expect(of({ servedFromCache: true }).details.notes).toEqual(['served_from_local_cache'])
  })
})

describe('footprint confidence and notes', () => {
  test.each<[number, Partial<Invocation>]>([
    [0.6, { region: 'us-east-1' }],
    [0.55, {}],
    [0.45, { inputTokens: 2501 }],
    [0.55, { inputTokens: 2500 }],
    [0.55, { provider: 'azure', region: 'eastus' }],
    [0.55, { region: 'us', requestedModel: 'gpt-4o-2031-01-01' }],
    [0.8, { provider: 'mistral', requestedModel: 'mistral-large-2512', region: 'SWE' }],
    [0.55, { provider: 'bedrock', requestedModel: 'us.meta.llama3-3-70b-instruct-v1:0' }],
    [0.4, { provider: 'deepinfra', requestedModel: 'openai/gpt-oss-120b' }],
  ])('%d', (confidence, stated) => {
    expect(of(stated).details.confidence).toBe(confidence)
  })

  test('notes list what the method does not cover', () => {
    expect(of({ inputTokens: 2501, serviceTier: 'batch', region: 'apac', eventTimeMs: 0 }).details.notes).toEqual([
      'prefill_not_modelled',
      'batch_same_formula',
      'region_without_single_grid',
      'grid_year_before_table',
    ])
  })
})

describe("a tenant's grid", () => {
  test('replaces the default zone and the factor of the table', () => {
    const tenant: TenantGrid = { zone: 'FRA', factors: [{ zone: 'FRA', gramsPerKwh: '10', source: 'supply contract' }] }

    expect(of({ energyWh: '1' }, tenant).details.grid).toEqual({
      zone: 'FRA',
      from: 'tenant',
      g_per_kwh: '10',
      table: 'tenant',
      source: 'supply contract',
    })
    expect(values({ energyWh: '1' }, tenant)[1]).toBe('modelled 0.01')
    expect(values({ energyWh: '1' })[1]).toBe('modelled 0.3844')
  })

  test('can add a zone that the table lacks, during the period of its factor', () => {
    const caf: TenantGrid = {
      zone: 'CAF',
      factors: [{ zone: 'CAF', gramsPerKwh: '10', source: 'own', from: '2026-01-01T00:00:00Z' }],
    }

    expect(of({ energyWh: '1' }, caf).details.grid).toMatchObject({ zone: 'CAF', from: 'tenant', g_per_kwh: '10' })
    expect(of({ energyWh: '1', region: 'caf' }, caf).details.grid).toMatchObject({ zone: 'CAF', from: 'event_region' })
    expect(of({ energyWh: '1', eventTimeMs: 0 }, caf).details.carbon_reason).toBe('unknown_zone')
    expect(of({ energyWh: '1' }, { zone: 'CAF' }).details.carbon_reason).toBe('unknown_zone')
  })
})

test('footprint details are one shared frozen object and text for events that differ only in their numbers', () => {
  const [first, second] = [of({ outputTokens: 200, latencyMs: 5 }), of({ outputTokens: 201 })]

  expect(second.details).toBe(first.details)
  expect(JSON.parse(first.detailsJson)).toEqual(first.details)
  expect(Object.isFrozen(first.details.model?.active_parameters_b)).toBe(true)
})

interface EnergyVector {
  readonly event: Partial<Invocation>
  readonly energy_wh: string
  readonly energy_min_wh: string
  readonly energy_max_wh: string
  readonly outer_min_wh: string
  readonly outer_max_wh: string
  readonly carbon_gco2e: string
  readonly carbon_min_gco2e: string
  readonly carbon_max_gco2e: string
  readonly embodied_gco2e: string
}

// Second implementation: Python's decimal module (test/support/vectors/energy-vectors.py).
test('footprint values and bands equal those of a second implementation, to the last digit', () => {
  const vectors = readVectors<EnergyVector>('energy')
  const got = vectors.map(({ event }) => {
    const { energyWh, carbonGco2e, details } = of(event)
    const { energy, carbon, carbonParts } = explainFootprint(details, event)
    return {
      event,
      energy_wh: formatQuantity(energyWh),
      energy_min_wh: energy && formatQuantity(energy.min),
      energy_max_wh: energy && formatQuantity(energy.max),
      outer_min_wh: energy && formatQuantity(energy.outerMin),
      outer_max_wh: energy && formatQuantity(energy.outerMax),
      carbon_gco2e: formatQuantity(carbonGco2e),
      carbon_min_gco2e: carbon && formatQuantity(carbon.min),
      carbon_max_gco2e: carbon && formatQuantity(carbon.max),
      embodied_gco2e: carbonParts && formatQuantity(carbonParts.embodied),
    }
  })

  expect(vectors.length).toBeGreaterThan(200)
  expect(got).toEqual(vectors)
})

interface EcoLogitsVector {
  readonly provider: string
  readonly model: string
  readonly output_tokens: number
  readonly latency_ms?: number
  readonly wh: readonly [number, number]
  readonly gco2e: readonly [number, number]
}

describe('against EcoLogits 0.11.3 itself (test/support/vectors/ecologits-vectors.py)', () => {
  const vectors = readVectors<EcoLogitsVector>('ecologits').map((vector) => {
    const { provider, model, output_tokens: outputTokens, latency_ms: latencyMs } = vector
    const eventTimeMs = Date.UTC(2026, 10, 29)
    return { ...vector, ours: of({ provider, requestedModel: model, outputTokens, latencyMs, eventTimeMs }) }
  })
  const modelled = vectors.filter(({ ours }) => ours.energyBasis === 'modelled')
  const isMiddle = (ours: Quantity<Unit>, [low, high]: readonly [number, number]): boolean =>
    Math.abs((2 * Number(formatQuantity(ours))) / (low + high) - 1) < 1e-8

  test('every model of its table that writes text is modelled', () => {
    const others = vectors.filter(({ ours }) => ours.details.energy_reason !== undefined)

    expect(modelled.length + others.length).toBe(vectors.length)
    expect(new Set(others.map(({ ours }) => ours.details.energy_reason))).toEqual(new Set(['not_text_output']))
    expect([...new Set(others.map(({ model }) => model.replace(/-\d{4}-\d\d-\d\d$/, '')))].sort()).toEqual([
      'gemini-2.5-flash-image',
      'gemini-3-pro-image-preview',
      'gemini-3.1-flash-image-preview',
      'gpt-4o-mini-transcribe',
      'gpt-4o-mini-tts',
    ])
  })

  test('every energy and carbon value equals the middle of its range to eight digits', () => {
    const differing = modelled.filter(
      ({ ours, wh, gco2e }) => !isMiddle(ours.energyWh, wh) || !isMiddle(ours.carbonGco2e, gco2e),
    )

    expect(modelled.length).toBeGreaterThan(1300)
    expect(differing.map(({ model, output_tokens }) => [model, output_tokens])).toEqual([])
  })
})

test('every footprint value lies within its inner band, and that within the outer band', () => {
  const outside = readVectors<EnergyVector>('energy').filter(({ event }) => {
    const { energyWh, carbonGco2e, details } = of(event)
    const { energy, carbon } = explainFootprint(details, event)
    const lies = <U extends Unit>(value: Quantity<U>, band: Banded<U> | undefined): boolean =>
      band !== undefined &&
      [band.outerMin, band.min, value, band.max, band.outerMax].every(
        (each, i, all) => i === 0 || (all[i - 1] ?? 0n) <= each,
      )
    return !lies(energyWh, energy) || !lies(carbonGco2e, carbon)
  })

  expect(outside).toEqual([])
})

/**
 * The calls nearest to those of which Google, OpenAI, Epoch AI, Mistral and ML.ENERGY published a figure (EcoLogits
 * 0.11.3, default zone, modelled latency), to two or three digits.
 */
test.each<[provider: string, model: string, tokens: number, minWh: number, maxWh: number]>([
  ['gemini', 'gemini-2.5-flash', 250, 0.336, 0.555],
  ['openai', 'gpt-4o', 300, 0.436, 0.725],
  ['openai', 'gpt-4o', 500, 0.722, 1.2],
  ['openai', 'gpt-4o-mini', 300, 0.0196, 0.0237],
  ['openai', 'gpt-4.1-nano', 300, 0.0201, 0.0513],
  ['openai', 'gpt-5', 400, 0.591, 0.854],
  ['openai', 'gpt-5.6-sol', 400, 1.63, 3.5],
  ['openai', 'o1', 1500, 2.07, 3.51],
  ['anthropic', 'claude-sonnet-4-5', 400, 0.57, 0.97],
  ['anthropic', 'claude-opus-4-6', 400, 1.4, 2.6],
  ['anthropic', 'claude-opus-5', 400, 1.24, 2.4],
  ['mistral', 'mistral-large-2411', 400, 0.241, 0.241],
  ['huggingface', 'meta-llama/Llama-3.1-8B-Instruct', 400, 0.032, 0.034],
  ['huggingface', 'meta-llama/Llama-3.1-70B-Instruct', 352, 0.21, 0.22],
  ['deepinfra', 'Qwen/Qwen3-235B-A22B', 879, 0.68, 0.96],
  ['deepinfra', 'deepseek-ai/DeepSeek-V3.1', 849, 3.07, 4.34],
])('%s %s with %i tokens has the range of EcoLogits 0.11.3', (provider, requestedModel, outputTokens, minWh, maxWh) => {
  const { details } = of({ provider, requestedModel, outputTokens })
  const { energy } = explainFootprint(details, { outputTokens })
  const off = (value: Quantity<'Wh'> | undefined, printed: number): number =>
    Math.abs(Number(formatQuantity(value ?? zero())) / printed - 1)

  expect(off(energy?.min, minWh)).toBeLessThan(0.025)
  expect(off(energy?.max, maxWh)).toBeLessThan(0.025)
})

test('the explanation recomputes the stored footprint from the stored details and the event', () => {
  const events = fc.record({
    model: fc.constantFrom(
      ['openai', 'gpt-4o'],
      ['anthropic', 'claude-opus-5'],
      ['huggingface', 'google/gemma-2b'],
      ['bedrock', 'deepseek.v3.2'],
      ['x', 'y'],
    ),
    outputTokens: fc.option(fc.nat({ max: 2_000_000 }), { nil: undefined }),
    latencyMs: fc.option(fc.nat({ max: 2_000_000 }), { nil: undefined }),
    region: fc.constantFrom(undefined, 'eu-west-1', 'apac', 'mars'),
    energyWh: fc.constantFrom(undefined, undefined, '0', '1.234567890123456789'),
    carbonGco2e: fc.constantFrom(undefined, undefined, '0.5'),
    eventTimeMs: fc.constantFrom(Date.UTC(2023, 0), Date.UTC(2025, 0), Date.UTC(2026, 10)),
  })
  fc.assert(
    fc.property(events, ({ model: [provider = '', requestedModel = ''], ...rest }) => {
      const event = call({ provider, requestedModel, ...rest })
      const stored = footprint(event, tables)

      const explained = explainFootprint(JSON.parse(stored.detailsJson), event)

      expect([explained.energyWh, explained.carbonGco2e]).toEqual([stored.energyWh, stored.carbonGco2e])
      const { carbonParts, energy } = explained
      if (carbonParts) expect(carbonParts.usage + carbonParts.embodied).toBe(stored.carbonGco2e)
      if (energy)
        expect(
          [energy.outerMin, energy.min, energy.mean, energy.max, energy.outerMax].every(
            (value, at, all) => at === 0 || value >= (all[at - 1] ?? 0n),
          ),
        ).toBe(true)
    }),
  )
})
