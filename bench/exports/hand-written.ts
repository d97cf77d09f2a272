import type { Readable } from 'node:stream'
import type { ClickHouseClient } from '@clickhouse/client'
import { BENCH_TENANT } from './records.js'

/**
 * What somebody would write instead of ordering an export: one SELECT that groups the records and prints the columns of
 * FOCUS as CSV. It folds no small group, keeps no snapshot, sorts nothing, packs nothing, and checks no sum.
 */
export const HAND_WRITTEN = {
  'default grain': `
SELECT
  cost AS BilledCost, '${BENCH_TENANT}' AS BillingAccountId, 'Bench' AS BillingAccountName, 'USD' AS BillingCurrency,
  '2026-11-01T00:00:00Z' AS BillingPeriodEnd, '2026-10-01T00:00:00Z' AS BillingPeriodStart,
  'Usage' AS ChargeCategory, NULL AS ChargeClass,
  concat('Attributed AI inference: ', provider, ' ', served_model, ', owner ', owner, ', service ',
    service) AS ChargeDescription,
  'Usage-Based' AS ChargeFrequency, '2026-11-01T00:00:00Z' AS ChargePeriodEnd,
    '2026-10-01T00:00:00Z' AS ChargePeriodStart,
  tokens AS ConsumedQuantity, 'Tokens' AS ConsumedUnit, cost AS ContractedCost, 1 AS ContractedUnitPrice,
    cost AS EffectiveCost,
  provider AS HostProviderName, 'Bench' AS InvoiceIssuerName, cost AS ListCost, 1 AS ListUnitPrice,
    'Other' AS PricingCategory,
  cost AS PricingQuantity, 'USD' AS PricingUnit, 'AI and Machine Learning' AS ServiceCategory,
  concat(provider, ' API') AS ServiceName, provider AS ServiceProviderName, 'Generative AI' AS ServiceSubcategory,
  concat(provider, '/', served_model) AS SkuId, 'Attributed Inference' AS SkuMeter,
  concat('{"x_ModelId":', toJSONString(served_model), '}') AS SkuPriceDetails,
  concat(provider, '/', served_model, '/pass-through') AS SkuPriceId,
  owner AS SubAccountId, owner AS SubAccountName, 'Owner' AS SubAccountType,
  concat('{"owner":', toJSONString(owner), ',"service":', toJSONString(service), '}') AS Tags,
  carbon AS x_CarbonDioxideEquivalentGrams, false AS x_CarbonIsLowerBound, false AS x_CohortSuppressed,
  false AS x_EnergyIsLowerBound, energy AS x_EnergyWattHours, input AS x_InputTokenCount, calls AS x_InvocationCount,
  lowest AS x_MinimumConfidence, output AS x_OutputTokenCount
FROM (
  SELECT provider, owner, service, served_model, sum(cost_usd) AS cost, sum(energy_wh) AS energy,
    sum(carbon_gco2e) AS carbon,
    sum(input_tokens) AS input, sum(output_tokens) AS output, input + output AS tokens, count() AS calls,
      min(confidence) AS lowest
  FROM attributions
  WHERE tenant_id = '${BENCH_TENANT}' AND event_time >= '2026-10-01' AND event_time < '2026-11-01'
    AND export_eligibility = 'eligible' AND confidence >= 0.8
  GROUP BY provider, owner, service, served_model
)
FORMAT CSV`,
  'day and meter': `
SELECT
  cost AS BilledCost, '${BENCH_TENANT}' AS BillingAccountId, 'Bench' AS BillingAccountName, 'USD' AS BillingCurrency,
  '2026-11-01T00:00:00Z' AS BillingPeriodEnd, '2026-10-01T00:00:00Z' AS BillingPeriodStart,
  'Usage' AS ChargeCategory, NULL AS ChargeClass,
  concat('Attributed AI inference: ', provider, ' ', served_model, ' ', meter, ' tokens, owner ', owner, ', service ',
    service) AS ChargeDescription,
  'Usage-Based' AS ChargeFrequency, concat(toString(day + 1), 'T00:00:00Z') AS ChargePeriodEnd,
  concat(toString(day), 'T00:00:00Z') AS ChargePeriodStart,
  tokens AS ConsumedQuantity, 'Tokens' AS ConsumedUnit, cost AS ContractedCost, rate AS ContractedUnitPrice,
    cost AS EffectiveCost,
  provider AS HostProviderName, 'Bench' AS InvoiceIssuerName, cost AS ListCost, rate AS ListUnitPrice,
    'Standard' AS PricingCategory,
  toDecimal128(tokens, 0) * toDecimal128('0.000001', 6) AS PricingQuantity, '1000000 Tokens' AS PricingUnit,
  'AI and Machine Learning' AS ServiceCategory,
  concat(provider, ' API') AS ServiceName, provider AS ServiceProviderName, 'Generative AI' AS ServiceSubcategory,
  concat(provider, '/', served_model, '/', meter) AS SkuId,
    if(meter = 'input', 'Input Tokens', 'Output Tokens') AS SkuMeter,
  concat('{"x_ModelId":', toJSONString(served_model), ',"x_TokenDirection":"', if(meter = 'input', 'Input', 'Output'),
    '"}') AS SkuPriceDetails,
  concat(provider, '/', served_model, '/', meter, '/', toString(rate)) AS SkuPriceId,
  owner AS SubAccountId, owner AS SubAccountName, 'Owner' AS SubAccountType,
  concat('{"owner":', toJSONString(owner), ',"service":', toJSONString(service), '}') AS Tags,
  if(meter = 'input', carbon, NULL) AS x_CarbonDioxideEquivalentGrams, false AS x_CarbonIsLowerBound,
    false AS x_CohortSuppressed,
  false AS x_EnergyIsLowerBound, if(meter = 'input', energy, NULL) AS x_EnergyWattHours,
  if(meter = 'input', input, NULL) AS x_InputTokenCount, if(meter = 'input', calls, NULL) AS x_InvocationCount,
  lowest AS x_MinimumConfidence, if(meter = 'input', output, NULL) AS x_OutputTokenCount
FROM (
  SELECT *, meter, tokens, toDecimal128(JSONExtractString(cost_details, 'price', 'rates', meter), 18) AS rate,
    rate * toDecimal128(tokens, 0) * toDecimal128('0.000001', 6) AS cost
  FROM (
    SELECT provider, owner, service, served_model, cost_details, toDate(event_time) AS day,
      sum(energy_wh) AS energy, sum(carbon_gco2e) AS carbon, sum(input_tokens) AS input, sum(output_tokens) AS output,
      count() AS calls, min(confidence) AS lowest
    FROM attributions
    WHERE tenant_id = '${BENCH_TENANT}' AND event_time >= '2026-10-01' AND event_time < '2026-11-01'
      AND export_eligibility = 'eligible' AND confidence >= 0.8
    GROUP BY provider, owner, service, served_model, cost_details, day
  )
  ARRAY JOIN ['input', 'output'] AS meter, [input, output] AS tokens
)
FORMAT CSV`,
} as const
export type Grain = keyof typeof HAND_WRITTEN

export interface Read {
  readonly ms: number
  readonly rows: number
  readonly bytes: number
}

/** Runs the statement and reads its answer to the end. */
export async function runByHand(store: ClickHouseClient, grain: Grain): Promise<Read> {
  const startedAt = performance.now()
  const { stream } = await store.exec({ query: HAND_WRITTEN[grain] })
  let [rows, bytes] = [0, 0]
  for await (const part of stream as Readable) {
    const read = part as Buffer
    bytes += read.length
    for (let at = read.indexOf(10); at >= 0; at = read.indexOf(10, at + 1)) rows++
  }
  return { ms: performance.now() - startedAt, rows, bytes }
}
