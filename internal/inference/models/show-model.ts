import type { ModelCard, Quality } from '../learning/model.js'
import type { ShownModel } from './model-contract.js'
import { chosenVersion, type StoredModel, statusOf, type Withdrawal } from './model-version.js'
import { added, NO_SHADOW, type StoredShadow } from './shadow.js'

/**
 * A version and its model card in the format of the API.
 *
 * @param versions all versions of the tenant
 * @param shadows the shadow counts of the version, one per partition
 */
export function shownModel(
  version: StoredModel,
  versions: Iterable<StoredModel>,
  shadows: Iterable<StoredShadow>,
): ShownModel {
  const { id, created_at, promoted_at, recalled_at } = version
  return {
    id,
    status: statusOf(version, chosenVersion(versions)),
    created_at,
    promoted_at,
    recalled_at,
    can_serve: version.artefact !== null,
    ...shownCard(version.card),
    withdrawn: shownWithdrawal(version.withdrawn ?? null),
    shadow: shownShadow(shadows),
  }
}

const shownCard = ({ dataWindow, gate, ...card }: ModelCard) => ({
  seed: card.seed,
  classes: card.classes.map(({ service, owner, examples, servedShare }) => ({
    service,
    owner,
    examples,
    served_share: rounded(servedShare),
  })),
  data_window: {
    from: isoOf(dataWindow.fromMs),
    to: isoOf(dataWindow.toMs),
    validation_from: isoOf(dataWindow.validationFromMs),
  },
  examples: card.examples,
  unknown_share: rounded(card.unknownShare),
  patterns: card.patterns.map(({ pattern, share, unknownShare }) => ({
    pattern,
    share: rounded(share),
    unknown_share: rounded(unknownShare),
  })),
  validation: {
    passed: gate.isPassed,
    reasons: [...gate.reasons],
    findings: (gate.findings ?? []).map(({ reason, figure, mustBe, bound }) => ({
      reason,
      figure: rounded(figure),
      must_be: mustBe,
      bound: rounded(bound),
    })),
    served_traffic: shownQuality(card.weighted),
    audits: card.audited === undefined ? null : shownQuality(card.audited),
  },
  calibration_curve: card.calibrationCurve.map(({ meanProbability, ...bin }) => ({
    from: bin.from,
    to: bin.to,
    n: rounded(bin.n),
    mean_probability: rounded(meanProbability),
    accuracy: rounded(bin.accuracy),
  })),
  feature_importance: card.featureImportance.map(({ feature, accuracyLost }) => ({
    feature,
    accuracy_lost: rounded(accuracyLost),
  })),
})

const shownWithdrawal = (withdrawal: Withdrawal | null): ShownModel['withdrawn'] =>
  withdrawal === null
    ? null
    : {
        at: withdrawal.at,
        scored: withdrawal.scored,
        precision: rounded(withdrawal.precision),
        precision_at_most: rounded(withdrawal.at_most),
        from: withdrawal.from,
        changed: withdrawal.classes.map(({ service, owner }) => ({ service, owner })),
      }

const shownQuality = (quality: Quality) => ({
  n: quality.n,
  accuracy: rounded(quality.accuracy),
  heuristic_accuracy: rounded(quality.heuristicAccuracy),
  majority_accuracy: rounded(quality.majorityAccuracy),
  calibration_error: rounded(quality.calibrationError),
  precision_at_floor: quality.precisionAtFloor === undefined ? null : rounded(quality.precisionAtFloor),
  share_at_floor: rounded(quality.shareAtFloor),
  log_loss: quality.logLoss === undefined ? null : rounded(quality.logLoss),
  context_log_loss: quality.contextLogLoss === undefined ? null : rounded(quality.contextLogLoss),
})

/** Sums the counts of all partitions against the latest serving version. */
function shownShadow(shadows: Iterable<StoredShadow>): ShownModel['shadow'] {
  const all = [...shadows].sort((one, other) => (one.since < other.since ? 1 : -1))
  const last = all[0]
  if (last === undefined) return null
  const counted = all.filter(({ against }) => against === last.against)
  const { changes, ...counts } = counted.reduce((sum, shadow) => added(sum, shadow.counts), NO_SHADOW)
  return {
    against: last.against,
    since: counted.at(-1)?.since ?? last.since,
    ...counts,
    changes: changes.map(({ from, to, events }) => ({ from, to, events })),
  }
}

const isoOf = (ms: number): string => new Date(ms).toISOString()

/** Six decimal places: more than the number of examples can support. */
const rounded = (value: number): number => Math.round(value * 1e6) / 1e6
