import { z } from 'zod'
import { json, type Operation } from '../../../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../../../http/contract/page.js'
import { exampleId, idInPath, idOf, timeText } from '../../../text/answer-fields.js'
import { overrideFields } from './override.js'

/** What the routes of tenants' own prices promise (design section 7). */

const price = z
  .object({
    id: idOf('prc'),
    provider: z.string(),
    model: z.string(),
    region: z.string().nullable(),
    valid_from: timeText(),
    valid_to: timeText().nullable(),
    usd_per_million: overrideFields.shape.usd_per_million,
    created_at: timeText(),
  })
  .meta({ id: 'Price' })

const EXAMPLE = {
  provider: 'openai',
  model: 'gpt-4o',
  usd_per_million: { input_tokens: '2', output_tokens: '8', batch: { input_tokens: '1', output_tokens: '4' } },
}

export const EXAMPLE_FIELDS = { ...EXAMPLE, valid_from: '2026-11-01T00:00:00Z' }

const EXAMPLE_PRICE = {
  id: exampleId('prc'),
  ...EXAMPLE,
  region: null,
  valid_from: '2026-11-01T00:00:00.000Z',
  valid_to: null,
  created_at: '2026-11-21T09:30:00.000Z',
}

const shown = json(price, EXAMPLE_PRICE)
const parameters = { id: idInPath('prc', 'id of the price.') }

export const LIST_PRICES: Operation = {
  id: 'listPrices',
  tag: 'Prices',
  summary: "The tenant's own prices, by provider and model",
  query: PAGE_PARAMETERS,
  replies: {
    200: {
      description: 'A page.',
      contents: json(pageOf(price), { data: [EXAMPLE_PRICE], page: { limit: 50, has_more: false } }),
    },
  },
}

export const GET_PRICE: Operation = {
  id: 'getPrice',
  tag: 'Prices',
  summary: 'One price',
  parameters,
  replies: { 200: { description: 'The price.', contents: shown } },
}

export const CREATE_PRICE: Operation = {
  id: 'createPrice',
  tag: 'Prices',
  summary: 'Set a negotiated price',
  description:
    'For one model of one provider from `valid_from` on. It counts for calls of that time which are attributed from now ' +
    'on and state no cost of their own, before the price book. Only what is listed has a price: without rates for ' +
    '`batch` a batch call is unpriced. Of several prices that are in force, one for the region of the call goes before ' +
    'one without a region, then the one that began last. A price is not changed: it is deleted, and set anew.',
  problems: ['CONFLICT'],
  replies: { 201: { description: 'It is set.', contents: shown } },
}

export const DELETE_PRICE: Operation = {
  id: 'deletePrice',
  tag: 'Prices',
  summary: 'Take a price back',
  description: 'Records that exist keep the cost that they have.',
  parameters,
  replies: { 204: { description: 'It counts no more.' } },
}
