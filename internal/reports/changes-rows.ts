import type { AnswerRow } from '../store/queries/reports/answer.js'
import { changeOf, type Mover, type Part } from './changes/decompose.js'
import type { Effects, Side } from './changes/effects.js'
import type { Explanation } from './changes/explains-most.js'
import { PERCENT_DECIMALS } from './compared.js'
import { decimalText, quotient } from './decimals.js'
import type { ReportQuestion } from './question.js'
import type { ChangesAnswer } from './read-changes.js'
import { isUnattributed, labelsOf } from './report-rows.js'

/** The changes in their wire form. */

const DECIMALS = 18
const usd = (steps: bigint): string => decimalText({ steps, decimals: DECIMALS })

export function shownChanges(
  { parts, explainedBy, isCut }: ChangesAnswer,
  { groupBy }: Pick<ReportQuestion, 'groupBy'>,
) {
  const { whole, increases, decreases, others, rest } = parts
  const percent = quotient(changeOf(whole) * 100n, whole.before.cost, PERCENT_DECIMALS)
  const shown = (mover: Mover<AnswerRow>) => shownMover(mover, groupBy)
  return {
    whole: {
      ...shownPart(whole),
      effects: { ...shownEffects(whole.effects), mix_usd: usd(whole.mix) },
      change_percent: percent === null ? null : decimalText(percent),
    },
    increases: increases.map(shown),
    decreases: decreases.map(shown),
    others: { groups: others.groups, ...shownPart(others) },
    rest: rest === undefined ? null : { ...shownPart(rest), has_unread_groups: isCut },
    explains_most: explainedBy === undefined ? null : shownExplanation(explainedBy, groupBy),
  }
}

function shownExplanation({ dimensions, labels }: Explanation, groupBy: ReportQuestion['groupBy']) {
  const by = groupBy.filter((_, place) => dimensions.includes(place))
  return { ...labelsOf({ labels }, by), group_by: by }
}

const shownMover = (mover: Mover<AnswerRow>, groupBy: ReportQuestion['groupBy']) => ({
  ...labelsOf(mover.row, groupBy),
  // The labels of a group that is gone are those of the calls before.
  unattributed: isUnattributed(
    mover.now.calls === 0n && mover.row.previous !== undefined
      ? { ...mover.row, figures: mover.row.previous.figures }
      : mover.row,
    groupBy,
  ),
  compared: mover.row.previous?.compared ?? 'both',
  ...shownPart(mover),
})

const shownPart = ({ before, now, effects }: Part) => ({
  change_usd: usd(changeOf({ before, now })),
  effects: shownEffects(effects),
  now: shownSide(now),
  before: shownSide(before),
})

const shownEffects = ({ volume, size, price }: Effects) => ({
  volume_usd: usd(volume),
  size_usd: usd(size),
  price_usd: usd(price),
})

const shownSide = ({ cost, calls, tokens, unpricedCalls }: Side) => ({
  cost_usd: usd(cost),
  calls: Number(calls),
  tokens: Number(tokens),
  unpriced_calls: Number(unpricedCalls),
})
