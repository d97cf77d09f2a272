import { z } from 'zod'
import type { ResourceContract } from '../../http/resource/resource-operations.js'
import { exampleId, idOf, timeText } from '../../text/answer-fields.js'
import { type OverrideFields, overrideFields, shownFees, shownRates, shownUnits } from './override.js'

/** The contract of a tenant's negotiated prices. */

const price = z
  .object({
    id: idOf('prc'),
    provider: z.string(),
    model: z.string(),
    region: z.string().nullable(),
    valid_from: timeText(),
    valid_to: timeText().nullable(),
    usd_per_million: shownRates,
    usd_per_call: shownFees.nullable(),
    usd_per_unit: shownUnits.nullable(),
    created_at: timeText(),
  })
  .meta({ id: 'Price' })

const EXAMPLE = {
  provider: 'openai',
  model: 'gpt-4o',
  usd_per_million: { input_tokens: '2', output_tokens: '8', batch: { input_tokens: '1', output_tokens: '4' } },
}

export const PRICE = {
  path: '/api/v1/prices',
  prefix: 'prc',
  tag: 'Prices',
  word: 'Price',
  plural: 'Prices',
  order: 'by provider and model',
  record: price,
  fields: overrideFields,
  example: {
    record: {
      id: exampleId('prc'),
      ...EXAMPLE,
      valid_from: '2026-11-01T00:00:00.000Z',
      region: null,
      valid_to: null,
      usd_per_call: null,
      usd_per_unit: null,
      created_at: '2026-11-21T09:30:00.000Z',
    },
    fields: { ...EXAMPLE, valid_from: '2026-11-01T00:00:00Z' },
  },
  descriptions: {
    list: 'Prices that the tenant negotiated. They take precedence over list prices.',
    create:
      'A negotiated price for one model of one provider, in force from `valid_from`. It takes precedence over the ' +
      'price book for calls in that period that are attributed after this request and state no cost of their own. ' +
      'Only the listed tiers are priced: without rates for `batch`, a batch call is unpriced. Fees of tools that ' +
      '`usd_per_call` does not list are those of the price book, and so are prices of units that `usd_per_unit` does ' +
      'not list. Among several prices in force, one ' +
      "for the call's region wins over one without a region, then the latest `valid_from` wins. A price cannot be " +
      'updated: delete it and add it again.',
    delete: 'Existing records keep their cost.',
  },
} as const satisfies ResourceContract<OverrideFields, never>
