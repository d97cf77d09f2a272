/** Small price books: a test states only the rows of its case. */
import type { PriceBookFile, PriceRow } from '../../internal/valuation/cost/price-book.js'

export const bookOf = (models: readonly PriceRow[], stated: Partial<PriceBookFile> = {}): PriceBookFile => ({
  as_of: '2026-12-01',
  providers: { openai: {} },
  models,
  history: [],
  zero_priced: [],
  incomplete: [],
  quarantined: [],
  ...stated,
})

export const priceRow = (model: string, input: string, output: string, stated: Partial<PriceRow> = {}): PriceRow => ({
  provider: 'openai',
  model,
  mode: 'chat',
  input,
  output,
  ...stated,
})
