import { beforeAll, describe, expect, test } from 'vitest'
import type { AttributionRow } from '../../../internal/store/tables/attributions.js'
import { byPeople, costOf, type ExportBench, launchExports, newTenant } from '../../support/export-jobs.js'
import { exact, type FocusRow, focusFaults, sumOf } from '../../support/focus-rules.js'

/** The rows of a file and their columns, by an exporter on a real broker and a real store. */

let bench: ExportBench
beforeAll(async () => {
  bench = await launchExports()
})

const at = (day: string): number => Date.parse(`${day}T12:00:00Z`)

describe('the rows of an export', () => {
  const mixed = (tenant: string): AttributionRow[] => [
    ...byPeople(tenant, 7, { owner: 'a', service: 's1' }),
    ...byPeople(tenant, 7, {
      owner: 'a',
      service: 's2',
      invocation: { eventTimeMs: at('2026-10-02'), inputTokens: 1_000, cachedInputTokens: 400 },
    }),
    ...byPeople(tenant, 7, {
      owner: 'b',
      service: 's3',
      invocation: { requestedModel: 'gpt-4o-mini', eventTimeMs: at('2026-10-02') },
    }),
    ...byPeople(tenant, 7, {
      owner: 'b',
      service: 's3',
      invocation: { estimatedCostUsd: '0.000000000000000007', inputTokens: undefined },
    }),
    ...byPeople(tenant, 7, {
      owner: 'b',
      service: 's3',
      invocation: {
        provider: 'anthropic',
        requestedModel: 'claude-sonnet-4-5',
        inputTokens: 900,
        cachedInputTokens: 100,
        cacheWriteTokens: 300,
        cacheWriteTtlSeconds: 3_600,
      },
    }),
  ]
  const tenant = newTenant()
  let all: readonly AttributionRow[] = []
  beforeAll(async () => {
    all = mixed(tenant)
    await bench.insert(all)
  })

  const labels = (rows: readonly FocusRow[], ...columns: string[]) =>
    rows.map((row) => columns.map((name) => row[name]).join(' '))

  test.each([
    [['owner'], '1.4'],
    [['provider'], '1.4'],
    [['service'], '1.4'],
    [['served_model', 'owner'], '1.4'],
    [['served_model', 'service', 'day'], '1.4'],
    [['day', 'owner'], '1.4'],
    [['meter'], '1.4'],
    [['meter', 'day', 'owner', 'service', 'served_model'], '1.4'],
    [undefined, '1.4'],
    [undefined, '1.2'],
    [['meter'], '1.2'],
  ] as const)(
    'by %j in FOCUS %s satisfy every rule, and their totals equal those of the records',
    async (groupings, version) => {
      const group_by = groupings === undefined ? null : [...groupings]

      const { header, rows, manifest } = await bench.exported(tenant, { group_by, focus_version: version })

      expect(focusFaults(header, rows, version)).toEqual([])
      expect(sumOf(rows, 'BilledCost')).toBe(exact(costOf(all)))
      expect(sumOf(rows, 'x_InvocationCount')).toBe(exact('35'))
      expect(sumOf(rows, 'x_EnergyWattHours')).toBe(all.reduce((total, { energyWh }) => total + energyWh, 0n))
      expect(sumOf(rows, 'x_CarbonDioxideEquivalentGrams')).toBe(
        all.reduce((total, { carbonGco2e }) => total + carbonGco2e, 0n),
      )
      expect(manifest.totals.billed_cost).toBe(costOf(all))
      expect(manifest.file.rows).toBe(rows.length)
    },
  )

  test('have one provider, however its calls spell it, and any spelling filters it', async () => {
    const spelt = newTenant()
    const calls = ['azure', 'azure.ai.openai', 'Azure-OpenAI'].flatMap((provider) =>
      byPeople(spelt, 3, { owner: 'a', service: 's', invocation: { provider, estimatedCostUsd: '0.01' } }),
    )
    await bench.insert(calls)

    const { header, rows } = await bench.exported(spelt, {
      group_by: ['owner'],
      filters: [{ field: 'provider', operator: 'eq', values: ['az.ai.openai'] }],
      focus_version: '1.4',
    })

    expect(focusFaults(header, rows, '1.4')).toEqual([])
    expect(labels(rows, 'ServiceProviderName', 'ServiceName', 'x_InvocationCount', 'BilledCost')).toEqual([
      'azure.ai.openai Azure OpenAI Service 9 0.09',
    ])
  })

  test('contain no field that was not requested', async () => {
    const { rows } = await bench.exported(tenant, { group_by: ['owner'] })

    expect(labels(rows, 'ServiceProviderName', 'SubAccountId', 'Tags', 'SkuId', 'SkuPriceDetails')).toEqual([
      'anthropic b {"owner":"b"} anthropic ',
      'openai a {"owner":"a"} openai ',
      'openai b {"owner":"b"} openai ',
    ])
  })

  test('by day have daily charge periods', async () => {
    const { rows } = await bench.exported(tenant, { group_by: ['day'] })

    expect(labels(rows, 'ChargePeriodStart', 'ChargePeriodEnd', 'ServiceProviderName', 'x_InvocationCount')).toEqual([
      '2026-10-02T00:00:00Z 2026-10-03T00:00:00Z openai 14',
      '2026-10-15T00:00:00Z 2026-10-16T00:00:00Z anthropic 7',
      '2026-10-15T00:00:00Z 2026-10-16T00:00:00Z openai 14',
    ])
  })

  test('by meter are one per kind of tokens at the book price; client estimates are passed through', async () => {
    const { rows } = await bench.exported(tenant, { group_by: ['owner', 'meter'] })

    expect(
      labels(
        rows,
        'SkuId',
        'SkuMeter',
        'PricingCategory',
        'ConsumedQuantity',
        'ConsumedUnit',
        'ListUnitPrice',
        'PricingQuantity',
        'PricingUnit',
        'BilledCost',
      ),
    ).toEqual([
      'anthropic/claude-sonnet-4-5/input Input Tokens Standard 3500 Tokens 3 0.0035 1000000 Tokens 0.0105',
      'anthropic/claude-sonnet-4-5/output Output Tokens Standard 1750 Tokens 15 0.00175 1000000 Tokens 0.02625',
      'anthropic/claude-sonnet-4-5/cache-read Cache Read Tokens Standard 700 Tokens 0.3 0.0007 1000000 Tokens 0.00021',
      'anthropic/claude-sonnet-4-5/cache-write-1h Cache Write 1 Hour Tokens Standard 2100 Tokens 6 0.0021 ' +
        '1000000 Tokens 0.0126',
      'openai/gpt-4o/input Input Tokens Standard 11200 Tokens 2.5 0.0112 1000000 Tokens 0.028',
      'openai/gpt-4o/output Output Tokens Standard 3500 Tokens 10 0.0035 1000000 Tokens 0.035',
      'openai/gpt-4o/cache-read Cache Read Tokens Standard 2800 Tokens 1.25 0.0028 1000000 Tokens 0.0035',
      'openai/gpt-4o Attributed Inference Other 7 Requests 1 0.000000000000000049 USD 0.000000000000000049',
      'openai/gpt-4o-mini/input Input Tokens Standard 7000 Tokens 0.15 0.007 1000000 Tokens 0.00105',
      'openai/gpt-4o-mini/output Output Tokens Standard 1750 Tokens 0.6 0.00175 1000000 Tokens 0.00105',
    ])
    // Only one of the rows of a call carries its counts.
    expect(labels(rows, 'x_InvocationCount', 'x_InputTokenCount').slice(0, 2)).toEqual(['7 6300', ' '])
  })

  test('by meter count writes of both lifetimes, images, and calls of tools at their fee', async () => {
    const billed = newTenant()
    const calls = [
      ...byPeople(billed, 5, {
        owner: 'a',
        invocation: {
          provider: 'anthropic',
          requestedModel: 'claude-sonnet-4-5',
          inputTokens: 1_000,
          outputTokens: 10,
          cacheWriteTokens: 600,
          cacheWrite5mTokens: 100,
          cacheWrite1hTokens: 200,
          webSearchCalls: 3,
        },
      }),
      ...byPeople(billed, 5, {
        owner: 'a',
        invocation: {
          requestedModel: 'gpt-realtime',
          inputTokens: 1_000,
          outputTokens: 10,
          cachedInputTokens: 700,
          audioInputTokens: 200,
          imageInputTokens: 500,
        },
      }),
      ...byPeople(billed, 5, {
        owner: 'a',
        invocation: {
          requestedModel: 'gpt-realtime',
          inputTokens: 2_000,
          outputTokens: 10,
          cachedInputTokens: 800,
          audioInputTokens: 1_000,
          cachedAudioInputTokens: 800,
        },
      }),
    ]
    await bench.insert(calls)

    const { header, rows } = await bench.exported(billed, { group_by: ['owner', 'meter'] })
    const owners = await bench.exported(billed, { group_by: ['owner'] })

    expect(focusFaults(header, rows, '1.4')).toEqual([])
    expect(sumOf(rows, 'BilledCost')).toBe(exact(costOf(calls)))
    expect(sumOf(owners.rows, 'BilledCost')).toBe(exact(costOf(calls)))
    expect(
      labels(
        rows,
        'SkuId',
        'SkuMeter',
        'ConsumedQuantity',
        'ConsumedUnit',
        'ListUnitPrice',
        'PricingQuantity',
        'PricingUnit',
      ),
    ).toEqual([
      'anthropic/claude-sonnet-4-5/input Input Tokens 2000 Tokens 3 0.002 1000000 Tokens',
      'anthropic/claude-sonnet-4-5/output Output Tokens 50 Tokens 15 0.00005 1000000 Tokens',
      'anthropic/claude-sonnet-4-5/cache-write Cache Write Tokens 2000 Tokens 3.75 0.002 1000000 Tokens',
      'anthropic/claude-sonnet-4-5/cache-write-1h Cache Write 1 Hour Tokens 1000 Tokens 6 0.001 1000000 Tokens',
      'anthropic/claude-sonnet-4-5/web-search Web Searches 15 Requests 0.01 15 Requests',
      'openai/gpt-realtime/input Input Tokens 5000 Tokens 4 0.005 1000000 Tokens',
      'openai/gpt-realtime/output Output Tokens 100 Tokens 16 0.0001 1000000 Tokens',
      'openai/gpt-realtime/cache-read Cache Read Tokens 1500 Tokens 0.4 0.0015 1000000 Tokens',
      'openai/gpt-realtime/audio-input Audio Input Tokens 2000 Tokens 32 0.002 1000000 Tokens',
      'openai/gpt-realtime/audio-cache-read Audio Cache Read Tokens 4000 Tokens 0.4 0.004 1000000 Tokens',
      'openai/gpt-realtime/image-input Image Input Tokens 500 Tokens 5 0.0005 1000000 Tokens',
      'openai/gpt-realtime/image-cache-read Image Cache Read Tokens 2000 Tokens 0.5 0.002 1000000 Tokens',
    ])
  })

  test('by meter count seconds and pages at the price of one, beside tokens', async () => {
    const billed = newTenant()
    const whisper = { requestedModel: 'whisper-1', inputTokens: undefined, outputTokens: undefined }
    const ocr = { ...whisper, provider: 'mistral', requestedModel: 'mistral-ocr-2512' }
    const calls = [
      ...byPeople(billed, 5, { owner: 'a', invocation: { ...whisper, billedUnits: { seconds: '12.5' } } }),
      ...byPeople(billed, 5, { owner: 'a', invocation: { ...whisper, billedUnits: { seconds: '0.0000015000001' } } }),
      ...byPeople(billed, 5, { owner: 'a', invocation: { ...ocr, billedUnits: { pages: '3' } } }),
      // The pages have a price, the documents have none: not in the file.
      ...byPeople(billed, 5, { owner: 'a', invocation: { ...ocr, billedUnits: { pages: '1', documents: '2' } } }),
    ]
    await bench.insert(calls)
    const charged = calls.filter(({ exportEligibility }) => exportEligibility === 'eligible')
    expect(charged).toHaveLength(15)

    const { header, rows } = await bench.exported(billed, { group_by: ['owner', 'served_model', 'meter'] })
    const owners = await bench.exported(billed, { group_by: ['owner'] })

    expect(focusFaults(header, rows, '1.4')).toEqual([])
    expect(focusFaults(owners.header, owners.rows, '1.4')).toEqual([])
    expect(sumOf(rows, 'BilledCost')).toBe(exact(costOf(charged)))
    expect(sumOf(owners.rows, 'BilledCost')).toBe(exact(costOf(charged)))
    const shown = ['SkuId', 'SkuMeter', 'ConsumedQuantity', 'ConsumedUnit', 'ListUnitPrice', 'PricingQuantity']
    expect(labels(rows, ...shown, 'PricingUnit', 'BilledCost', 'x_InvocationCount')).toEqual([
      'mistral/mistral-ocr-2512/pages Pages 15 Pages 0.002 15 Pages 0.03 5',
      'openai/whisper-1/seconds Seconds 62.50001 Seconds 0.0001 62.50001 Seconds 0.006250001 10',
    ])

    // With few people of another owner, the rows fold into one that passes its cost through.
    const few = byPeople(billed, 2, { owner: 'b', invocation: { ...ocr, billedUnits: { pages: '7' } } })
    await bench.insert(few)
    const folded = await bench.exported(billed, { group_by: ['owner', 'served_model', 'meter'] })
    expect(focusFaults(folded.header, folded.rows, '1.4')).toEqual([])
    expect(labels(folded.rows, ...shown, 'PricingUnit', 'BilledCost', 'x_InvocationCount').slice(1)).toEqual([
      'mistral Attributed Inference 7 Requests 1 0.058 USD 0.058 7',
    ])
  })

  test('have only the requested columns, in the order of the standard', async () => {
    const { header } = await bench.exported(tenant, { columns: ['Tags', 'x_InvocationCount', 'BilledCost'] })

    expect(header).toEqual(['BilledCost', 'Tags', 'x_InvocationCount'])
  })

  test('in FOCUS 1.2 have its provider column and no later column', async () => {
    const { header, rows } = await bench.exported(tenant, { focus_version: '1.2', group_by: ['owner'] })

    expect(header).not.toContain('HostProviderName')
    expect(rows.map((row) => [row['ProviderName'], row['PublisherName']])).toEqual(
      ['anthropic', 'openai', 'openai'].map((publisher) => [rows[0]?.['InvoiceIssuerName'], publisher]),
    )
  })

  test('contain names unchanged', async () => {
    const strange = newTenant()
    const owner = 'a "b", c/d \\ é 💶 =1+1'
    await bench.insert(byPeople(strange, 5, { owner, service: "it's" }))

    const { rows } = await bench.exported(strange)

    expect(rows[0]).toMatchObject({ SubAccountId: owner, InvoiceIssuerName: 'Acme, "Inc."' })
    expect(JSON.parse(rows[0]?.['Tags'] ?? '')).toEqual({ owner, service: "it's" })
  })
})
