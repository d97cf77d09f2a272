/** The comparison as the guide on prices shows it. Pure. */
import type { Tally } from './comparison.js'
import { type Cell, type PricesResult, SHARE_MIN, shareText, totalOf, UNPRICED_MAX } from './result.js'
import { VECTORS } from './vectors.js'

const BEGIN = '<!-- comparison: npm run bench -- prices -->'
const END = '<!-- /comparison -->'

/** @returns the guide with this text between its marks */
export function withPage(guide: string, page: string): string {
  const from = guide.indexOf(BEGIN)
  const to = guide.indexOf(END)
  if (from < 0 || to < from) throw new Error(`the guide has no ${BEGIN} … ${END}`)
  return `${guide.slice(0, from + BEGIN.length)}\n\n${page}\n\n${guide.slice(to)}`
}

export const pageOf = (result: PricesResult): string =>
  [
    summaryOf(result),
    markdown(...sharesOf(result)),
    'Calls with a tier by the name that the provider returns; 100,000 tokens of input, 10,000 of output; USD:',
    markdown(...tierCallsOf(result)),
    restOf(result),
  ].join('\n\n')

function summaryOf({ comparison, books, date, book_as_of: asOf }: PricesResult): string {
  const { models, vectors, agreed, share, unpriced, differing, alone } = comparison
  const of = (tally: Tally): string => `${grouped(tally['as they say'])} of ${grouped(sum(tally))}`
  return [
    `${date.slice(0, 10)}: our book of ${asOf} beside \`${books.map(({ file }) => file).join('` and `')}\`.`,
    `${grouped(models)} models, ${grouped(vectors)} calls; on ${grouped(sum(agreed))} of them both books agree.`,
    '',
    `- Priced as both say: ${percent(share)} (bar ${percent(SHARE_MIN)}).`,
    `- Priced by both books and not by ours: ${unpriced} (bar ${UNPRICED_MAX}).`,
    `- Where the two differ, ours is as one of them says for ${of(differing)}; where only one has a price, for ${of(alone)}.`,
  ].join('\n')
}

type Table = readonly [head: readonly string[], rows: readonly (readonly string[])[]]

function sharesOf({ cells }: PricesResult): Table {
  const providers = [...new Set(cells.map(({ provider }) => provider))]
  const row = (name: string, own: readonly Cell[]): readonly string[] => [
    name,
    ...VECTORS.map(({ name: vector }) => shareText(own.filter((cell) => cell.vector === vector))),
    shareText(own),
    String(totalOf(own, 'otherwise')),
    String(totalOf(own, 'unpriced')),
  ]
  return [
    ['as both say', ...VECTORS.map(({ name }) => name), 'all', 'otherwise', 'unpriced'],
    [
      ...providers.map((id) =>
        row(
          id,
          cells.filter(({ provider }) => provider === id),
        ),
      ),
      row('all', cells),
    ],
  ]
}

const tierCallsOf = ({ tier_calls: calls }: PricesResult): Table => [
  ['model', 'tier', 'ours', 'genai-prices', 'LiteLLM'],
  calls.map(({ provider, model, tier, ours, genai, litellm }) => [
    `${provider} \`${model}\``,
    tier,
    ours ?? 'unpriced',
    ...[genai, litellm].map((usd) => (usd === null ? '' : String(usd))),
  ]),
]

/** What is priced otherwise than both books say, or unpriced, by reason. */
function restOf({ rest }: PricesResult): string {
  if (rest.length === 0) return 'No call is priced otherwise than both say.'
  const groups = new Map<string, Map<string, string[]>>()
  for (const { provider, model, vector, reason } of rest) {
    const id = `${provider}\n${reason === '' ? 'not explained yet' : reason}`
    const models = groups.get(id) ?? new Map<string, string[]>()
    groups.set(id, models.set(model, [...(models.get(model) ?? []), vector]))
  }
  const items = [...groups].map(([id, models]) => {
    const [provider = '', reason = ''] = id.split('\n')
    const calls = [...models].map(([model, vectors]) => `\`${model}\` (${vectors.join(', ')})`)
    return wrapped(`- ${provider}, ${reason}: ${calls.join(', ')}`)
  })
  return `Priced otherwise than both say, or unpriced:\n\n${items.join('\n')}`
}

const LINE_MAX = 120

/** An item of a list as lines of the guide's width. */
function wrapped(item: string): string {
  const lines: string[] = []
  let line = ''
  for (const word of item.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > LINE_MAX) {
      lines.push(line)
      line = `  ${word}`
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line].join('\n')
}

function markdown(...[head, rows]: Table): string {
  const widths = head.map((cell, at) => Math.max(cell.length, ...rows.map((row) => (row[at] ?? '').length)))
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`
  return [line(head), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rows.map(line)].join('\n')
}

const sum = (tally: Tally): number => tally['as they say'] + tally.otherwise + tally.unpriced
const grouped = (count: number): string => count.toLocaleString('en-US')
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`
