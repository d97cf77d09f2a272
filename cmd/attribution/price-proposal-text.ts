import type {
  BookDifference,
  RateChange,
  RowChange,
  RulesChange,
} from '../../internal/valuation/books/book-difference.js'
import type { CostChange, DoubtedRow, ProposalEffect } from '../../internal/valuation/books/proposals.js'
import type { RowDisagreement } from '../../internal/valuation/books/propose-book.js'
import { SKIP_REASONS, type SkipReason, type SourceBook } from '../../internal/valuation/books/sources/source-book.js'

/** What a person reads of a proposed price book before it comes into force. */
export interface ShownProposal {
  /** Null where nothing was kept. */
  readonly id: string | null
  readonly base: string
  readonly asOf: string
  /** A day. */
  readonly effectiveFrom: string
  readonly rows: number
  readonly difference: BookDifference
  /** New and changed rows that are not in the proposal. */
  readonly held: readonly DoubtedRow[]
  readonly heldCount: number
  /** As it was when the proposal was made; undefined of one that an earlier version made. */
  readonly effect: ProposalEffect | undefined
  /** Only where the proposal is made. */
  readonly made?: MadeFrom
}

export interface MadeFrom {
  readonly sources: readonly SourceBook[]
  readonly disagreements: readonly RowDisagreement[]
  readonly byTimeOfDay: readonly string[]
  readonly inexact: readonly string[]
}

/** Lines of a list that a terminal shows; `--json` has all. */
const LINES_MAX = 40

export function proposalText(shown: ShownProposal): string {
  const { id, base, asOf, effectiveFrom, rows, difference, held, heldCount, effect, made } = shown
  const { changes, added, removed, rules } = difference
  const lines = [
    `${id ?? '(nothing to propose)'}: ${rows} rows as of ${asOf}, in force from ${effectiveFrom}, made from ${base}`,
    ...(made?.sources ?? []).map(sourceText),
    `${added.length} added, ${changes.length} changed, ${removed.length} removed`,
    ...list('changed, USD per 1,000,000 tokens, per call or per unit', changes.map(changeText)),
    ...list('added', added),
    ...list('providers have other rules; factors', rules.map(rulesText)),
    ...list(
      'rows are not in the proposal and keep their price, if any; propose with --accept',
      held.map(heldText),
      heldCount,
    ),
    ...list('prices on which the books disagree; ours stays', (made?.disagreements ?? []).map(disagreementText)),
    ...list('rows have prices by time of day and stay as they are', made?.byTimeOfDay ?? []),
    ...list('rows would have a price that cannot be held exactly and stay as they are', made?.inexact ?? []),
    ...(effect === undefined ? [] : effectLines(effect)),
  ]
  return `${lines.join('\n')}\n`
}

const effectLines = ({ from, to, costs, newlyPriced }: ProposalEffect): readonly string[] => [
  `effect on the records from ${from} to ${to}, had the changes been in force throughout:`,
  ...limited(costs.map(costText)),
  ...(costs.length === 0 ? ['  none'] : []),
  `${newlyPriced.calls} unpriced calls would have a price: ${newlyPriced.cost_usd} USD at list`,
]

function sourceText({ name, rows, skipped }: SourceBook): string {
  const left = Object.entries(skipped).map(([reason, count]) => `${count} ${SKIP_REASONS[reason as SkipReason]}`)
  return `from ${name}: ${rows.length} rows${left.length === 0 ? '' : `; left out: ${left.join(', ')}`}`
}

const changeText = ({ name, from, rates, scheduledFrom }: RowChange): string =>
  `${name}${from === undefined ? '' : ` from ${from}`}: ` +
  [
    ...rates.map(rateText),
    ...(scheduledFrom === undefined ? [] : [`another price is announced for ${scheduledFrom}`]),
  ].join(', ')

const rulesText = ({ provider, rates }: RulesChange): string => `${provider}: ${rates.map(rateText).join(', ')}`

const rateText = ({ price, before, after }: RateChange): string => `${price} ${before ?? 'none'} -> ${after ?? 'none'}`

const heldText = ({ name, doubts }: DoubtedRow): string => `${name}  ${doubts.join(', ')}`

const disagreementText = ({ name, price, ours, said }: RowDisagreement): string =>
  `${name} ${price}: ours ${ours || 'none'}, ` +
  Object.entries(said)
    .map(([source, value]) => `${source} ${value || 'none'}`)
    .join(', ')

export const costText = (change: CostChange): string =>
  `${change.provider}/${change.served_model}: ${change.records} records, ${change.old_cost_usd} -> ` +
  `${change.new_cost_usd} USD (${change.difference_usd.startsWith('-') ? '' : '+'}${change.difference_usd})` +
  `${change.newly_priced > 0 ? `, ${change.newly_priced} newly priced` : ''}` +
  `${change.newly_unpriced > 0 ? `, ${change.newly_unpriced} newly unpriced` : ''}`

const list = (what: string, items: readonly string[], count = items.length): readonly string[] =>
  items.length === 0 ? [] : [`${count} ${what}:`, ...limited(items, count)]

const limited = (items: readonly string[], count = items.length): readonly string[] => [
  ...items.slice(0, LINES_MAX).map((item) => `  ${item}`),
  ...(count > LINES_MAX ? [`  and ${count - LINES_MAX} more`] : []),
]

export function proposalJson(shown: ShownProposal): object {
  const { id, base, asOf, effectiveFrom, rows, difference, held, effect, made } = shown
  return {
    proposal: id,
    base,
    as_of: asOf,
    effective_from: effectiveFrom,
    rows,
    added: difference.added,
    removed: difference.removed,
    changed: difference.changes.map(({ name, from, rates, scheduledFrom }) => {
      return { row: name, from: from ?? null, scheduled_from: scheduledFrom ?? null, prices: rates.map(rateJson) }
    }),
    rules: difference.rules.map(({ provider, rates }) => ({ provider, factors: rates.map(rateJson) })),
    held: held.map(({ name, doubts }) => ({ row: name, doubts })),
    ...(made !== undefined && {
      sources: made.sources.map((source) => ({
        name: source.name,
        rows: source.rows.length,
        left_out: source.skipped,
      })),
      disagreements: made.disagreements.map(({ name, price, ours, said }) => {
        return { row: name, price, ours: ours ?? null, said }
      }),
      by_time_of_day: made.byTimeOfDay,
      inexact: made.inexact,
    }),
    effect:
      effect === undefined
        ? null
        : { from: effect.from, to: effect.to, costs: effect.costs, newly_priced: effect.newlyPriced },
  }
}

const rateJson = ({ price, before, after }: RateChange) => {
  return { price, before: before ?? null, after: after ?? null }
}
