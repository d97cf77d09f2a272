/**
 * Writes genai-prices-vectors.data.json: costs computed by the npm package @pydantic/genai-prices, an independent
 * implementation and price list. Only rows on which its list and ours agree at that instant, so that the figures check
 * names, units and the formula. Its results are doubles, so the test compares to 12 significant digits. Run from the
 * repository root: node test/support/vectors/genai-prices-vectors.mjs
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { calcPrice } from '@pydantic/genai-prices'

const PROVIDERS = {
  openai: 'openai',
  anthropic: 'anthropic',
  gemini: 'google',
  mistral: 'mistral',
  groq: 'groq',
  xai: 'x-ai',
}
const AT = Date.UTC(2026, 8, 20, 12)
const book = JSON.parse(readFileSync('internal/valuation/cost/prices.data.json', 'utf8'))
const dated = new Set(book.history.flatMap(({ provider, models }) => models.map((model) => `${provider}/${model}`)))

const vectors = []
for (const row of book.models) {
  const providerId = PROVIDERS[row.provider]
  const isPlain = !row.region && !row.other && !row.bands && row.mode !== 'embedding'
  if (providerId === undefined || !isPlain || dated.has(`${row.provider}/${row.model}`)) continue
  for (const [input, output, cached] of [
    [1234, 567, 0],
    [9001, 13, 4096],
  ]) {
    const usage = { input_tokens: input, output_tokens: output, ...(cached > 0 && { cache_read_tokens: cached }) }
    const result = calcPrice(usage, row.model, { providerId, timestamp: new Date(AT) })
    if (result === null || !agree(row, result.model_price, cached > 0)) continue
    vectors.push({
      event: {
        provider: row.provider,
        requestedModel: row.model,
        eventTimeMs: AT,
        inputTokens: input,
        outputTokens: output,
        ...(cached > 0 && { cachedInputTokens: cached }),
      },
      cost_usd: result.total_price,
    })
  }
}

function agree(row, theirs, isCached) {
  const base = (price) => (typeof price === 'object' && price !== null ? price.base : price)
  const isSame = (ours, name) => ours !== undefined && Number(ours) === base(theirs[name])
  return (
    isSame(row.input, 'input_mtok') &&
    isSame(row.output, 'output_mtok') &&
    (!isCached || isSame(row.cache_read, 'cache_read_mtok'))
  )
}

writeFileSync(
  'test/support/vectors/genai-prices-vectors.data.json',
  JSON.stringify({ made_by: 'test/support/vectors/genai-prices-vectors.mjs (@pydantic/genai-prices 0.1.8)', vectors }),
)
process.stdout.write(`${vectors.length}\n`)
