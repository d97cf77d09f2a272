/** The comparison on a terminal. */
import { table } from '../table.js'
import type { ComparedVector } from './comparison.js'
import { type PricesResult, SHARE_MIN, shareText, UNPRICED_MAX } from './result.js'
import { VECTORS } from './vectors.js'

export function reportOf(result: PricesResult, before: PricesResult | undefined): string {
  const { comparison, rest } = result
  const { models, vectors, share, unpriced, unused_reasons: unused } = comparison
  const last = before && ` (before: ${percent(before.comparison.share)}, ${before.comparison.unpriced})`
  const unexplained = rest.filter(({ reason }) => reason === '').length
  return [
    `${models} models, ${vectors} vectors\n${table(outcomes(result))}`,
    table(shares(result)),
    table(tierCalls(result)),
    `  as both say ${percent(share)} (bar ${percent(SHARE_MIN)}), ` +
      `unpriced that both price ${unpriced} (bar ${UNPRICED_MAX})${last ?? ''}\n` +
      `  differences without a reason: ${unexplained} of ${rest.length}; reasons that explain nothing: ${unused}\n`,
  ].join('\n')
}

/** Each vector that is priced otherwise than a book says, or unpriced, as tab-separated values. */
export function listOf(compared: readonly ComparedVector[]): string {
  const rows = compared
    .filter(({ outcome }) => outcome !== 'as they say')
    .map(({ provider, model, vector, books, outcome, ours, genai, litellm, remarks }) => {
      const usd = [ours, genai, litellm].map(usdText)
      return [provider, model, vector, books, outcome, ...usd, remarks.join(' ')].join('\t')
    })
  const head = [
    'provider',
    'model',
    'vector',
    'books',
    'outcome',
    'ours',
    'genai-prices',
    'litellm',
    'remarks',
    'named by',
  ]
  return `${[head.join('\t'), ...rows].join('\n')}\n`
}

function outcomes({ comparison: { agreed, differing, alone } }: PricesResult): readonly string[][] {
  const names = ['as they say', 'otherwise', 'unpriced'] as const
  return [
    ['', ...names],
    ['both books agree', ...names.map((name) => String(agreed[name]))],
    ['they differ', ...names.map((name) => String(differing[name]))],
    ['one has a price', ...names.map((name) => String(alone[name]))],
  ]
}

function shares({ cells }: PricesResult): readonly string[][] {
  const providers = [...new Set(cells.map(({ provider }) => provider))]
  const rows = providers.map((id) => {
    const own = cells.filter(({ provider }) => provider === id)
    return [id, ...VECTORS.map(({ name }) => shareText(own.filter(({ vector }) => vector === name))), shareText(own)]
  })
  return [['as both say', ...VECTORS.map(({ name }) => name), 'all'], ...rows]
}

const tierCalls = ({ tier_calls: calls }: PricesResult): readonly string[][] => [
  ['', 'ours', 'genai-prices', 'LiteLLM', ''],
  ...calls.map(({ provider, model, tier, ours, genai, litellm, remarks }) => [
    `${provider} ${model} ${tier}`,
    ours ?? 'unpriced',
    ...[genai, litellm].map((usd) => usdText(usd ?? undefined)),
    remarks.join(' '),
  ]),
]

const usdText = (usd: number | undefined): string => (usd === undefined ? '' : String(Number(usd.toPrecision(6))))
const percent = (value: number): string => `${(100 * value).toFixed(2)} %`
