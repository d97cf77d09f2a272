import {
  CHARGEBACK_FLOOR,
  type ContestedBy,
  type EvidenceBasis,
  type ExportEligibility,
  PROVISIONAL_FLOOR,
  UNASSIGNED,
} from '../../records/interpretation.js'
import type { StoredAttributionDetail } from '../../store/queries/records/attributions.js'
import { intakeName, seenByOf } from '../sightings/seen-by.js'
import type { AppliedRule, Conflict, ResolutionEvidence } from '../stages/a/evidence.js'
import type { BaselineGuess } from '../stages/b/baseline.js'
import type { ModelExplanation } from './model-explanation.js'
import type { Inference } from './row.js'
import { readingInWords, usageReadings } from './usage-readings.js'

/** Evidence of a stored record, of any stage: what its basis does not have is absent. */
interface StoredEvidence extends Partial<ResolutionEvidence>, Partial<BaselineGuess['evidence']> {
  readonly inferred_owner?: string
  readonly unknown_identity?: true
  readonly override?: { readonly reason: string; readonly bulk_override?: string }
  readonly replaced?: { readonly service: string; readonly owner: string }
  readonly dispute?: { readonly reason: string }
  readonly rule?: 'default' | Readonly<Record<string, string>>
}

/** What a summary is made of. */
export type Summarised = Pick<
  StoredAttributionDetail,
  | 'service'
  | 'owner'
  | 'evidence_basis'
  | 'stage_origin'
  | 'confidence'
  | 'attribution_confidence'
  | 'degradation_state'
  | 'export_eligibility'
  | 'cost_usd'
  | 'cost_basis'
  | 'cost_bound'
  | 'cost_details'
  | 'input_tokens'
  | 'output_tokens'
  | 'usage_basis'
  | 'evidence'
  | 'inference'
  | 'seen_by'
>

/**
 * A record in plain sentences: who it is attributed to and why, whether it may be charged back, who else saw the call.
 * Made from the facts of the card, so that it never says more than they do.
 *
 * @param priceUsd what the call costs by its price; null if none applies
 */
export function summaryOf(stored: Summarised, priceUsd: string | null, model: ModelExplanation = {}): string {
  const evidence = JSON.parse(stored.evidence) as StoredEvidence
  const reason = `${reasonOf(stored, evidence)}${modelOf(model, stored)}`
  return `${sentence(reason)} ${sentence(chargebackOf(stored, evidence, priceUsd))}${alsoSeenOf(stored)}`
}

function alsoSeenOf({ seen_by: seenBy }: Summarised): string {
  const { also, perhaps = [] } = seenByOf({ seenBy })
  const doubt =
    perhaps.length === 0
      ? ''
      : ` ${sentence('another instrumentation of the same process may show this call once more; both are counted')}`
  if (also.length === 0) return doubt
  const sources = also
    .map(({ intake, principal, instrumentation }) => `${intakeName(intake)} (${instrumentation ?? principal})`)
    .join(' and ')
  const usage = also.find((each) => each.usage)
  const whose = usage === undefined ? '' : `, with the tokens and cost that ${intakeName(usage.intake)} states`
  return ` ${sentence(`the call was also seen by ${sources}; it is counted once${whose}`)}${doubt}`
}

/** What the model adds: the fact that spoke most for its choice, or its best guess where it named nobody. */
function modelOf(
  { reasons, best_guess: guess }: ModelExplanation,
  { attribution_confidence: stated }: Summarised,
): string {
  const [first] = reasons ?? []
  if (first !== undefined) return `; the strongest sign is that ${first.text}`
  if (guess === undefined) return ''
  if (Number(guess.unknown_probability) > Number(guess.probability)) {
    return (
      `; the model finds it likeliest, at ${percent(guess.unknown_probability)}, that it is none of the ` +
      'services it knows'
    )
  }
  const isLikely = Number(guess.probability) * 10_000 >= PROVISIONAL_FLOOR
  const reason = isLikely
    ? `but its sender states a confidence of only ${percent(stated)}`
    : `below the ${PROVISIONAL_FLOOR / 100} % that it takes to name a service`
  return `; the model's best guess was ${quoted(guess.service)} at ${percent(guess.probability)}, ${reason}`
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
/** Names and reasons come from outside: quoted, they cannot be taken for words of ours. */
const quoted = (text: string): string => JSON.stringify(text)

function reasonOf(stored: Summarised, evidence: StoredEvidence): string {
  const service = quoted(stored.service)
  const owner = ownerOf(stored, evidence)
  switch (stored.evidence_basis as EvidenceBasis) {
    case 'identity_and_service_resolved':
      return `the call states its caller and its service: ${statedOf(stored, evidence)}; ${owner}`
    case 'service_resolved':
      return `the call states its service: ${statedOf(stored, evidence)}; ${owner}`
    case 'identity_resolved':
      return `the call states no service, but its caller works for ${service} according to the directory; ${owner}`
    case 'mapping_rule':
      return `${ruledOf(stored, evidence)}; ${owner}`
    case 'trace_correlated':
      return `the call states no service, but another call of its trace belongs to ${service}; ${owner}`
    case 'principal_resolved':
      return (
        `the call states no service; the credential that sent it belongs to ${service} unless a call says ` +
        `otherwise; ${owner}`
      )
    case 'owner_resolved':
      return `the caller's team is ${quoted(stored.owner)} according to the directory; ${serviceUnknownOf(evidence)}`
    case 'exclusive_principal_resolved':
      return `the credential that sent the call belongs to ${service} alone${claimOf(evidence)}; ${owner}`
    case 'service_declared':
      return `the call states the service ${service}, but ${doubtOf(evidence.conflict)}; ${owner}`
    case 'manual_override':
      return overrideOf(stored, evidence)
    case 'trained_inference':
      return `${inferenceOf({ ...stored, owner: evidence.inferred_owner ?? stored.owner })}${factOwnerOf(stored, evidence)}`
    case 'heuristic_baseline':
      return baselineOf(stored, evidence)
    case 'allocation_policy':
      return `${unknownOf(evidence)}; its cost goes to the pool ${service}, by the rule ${ruleOf(evidence)}`
    case 'default_pool':
      return `${unknownOf(evidence)}, and no cost pool has a rule for it; its cost goes to the pool ${service}`
  }
}

function ruledOf({ service }: Summarised, { mapping_rule: rule }: StoredEvidence): string {
  const conditions = (rule?.when ?? []).map(testOf).join(' and ')
  const doubt = rule?.source === 'claimed' ? ', which the call only claims' : ''
  return `the mapping rule ${quoted(rule?.name ?? '')} attributes calls to ${quoted(service)} ${conditions}${doubt}`
}

const RELATIONS = { exact: 'is', prefix: 'begins with', glob: 'matches' } as const

function testOf({ field, key = '', match, value }: AppliedRule['when'][number]): string {
  const what = field === 'tag' ? `tag ${quoted(key)}` : field === 'identity' ? 'caller' : field.replace('_', ' ')
  return `whose ${what} ${RELATIONS[match]} ${value === undefined ? 'one that the rule names' : quoted(value)}`
}

function statedOf({ service }: Summarised, { stated_service, in_directory }: StoredEvidence): string {
  if (in_directory !== true) return `${quoted(service)}, which the directory does not list`
  return stated_service === undefined || stated_service === service
    ? `${quoted(service)}, which the directory lists`
    : `${quoted(stated_service)}, which is ${quoted(service)} in the directory`
}

function ownerOf({ owner }: Summarised, { owner_from }: StoredEvidence): string {
  switch (owner_from) {
    case 'directory_service':
      return `the service belongs to ${quoted(owner)}`
    case 'directory_identity':
      return `the caller's team is ${quoted(owner)}`
    case 'mapping_rule':
      return `the rule sets the owner ${quoted(owner)}`
    case 'trace':
      return `the owner ${quoted(owner)} is that of the other call`
    case 'event_identity':
      return 'the owner is the caller, because no other is known'
    default:
      return 'no owner is known'
  }
}

const claimOf = ({ conflict }: StoredEvidence): string =>
  conflict?.service === undefined ? '' : `, although the call claims ${quoted(conflict.service)}`

function doubtOf(conflict: Conflict | undefined): string {
  const by: ContestedBy | undefined = conflict?.by
  switch (by) {
    case 'workload_identity':
      return `the workload that made it belongs to ${quoted(conflict?.service ?? '')} in the directory`
    case 'misleading_name':
      return conflict?.name === 'pool_name' ? 'that is the name of a cost pool' : 'that name looks like another one'
    default:
      return 'the directory does not list it'
  }
}

function unknownOf({ conflict, unknown_identity: hasUnknownIdentity }: StoredEvidence): string {
  const services = conflict?.by === 'trace' ? conflict.services : undefined
  if (services === undefined) {
    return hasUnknownIdentity === true
      ? 'the call states its caller alone, of whom the directory knows neither a service nor an owner'
      : 'nothing tells who made the call'
  }
  return `the call states no service, and the calls of its trace belong to several (${services.map(quoted).join(', ')})`
}

const serviceUnknownOf = (evidence: StoredEvidence): string =>
  evidence.conflict === undefined ? 'nothing tells which service it used' : unknownOf(evidence)

const factOwnerOf = ({ owner }: Summarised, { inferred_owner }: StoredEvidence): string =>
  inferred_owner === undefined ? '' : `; the caller's team is ${quoted(owner)} according to the directory`

function overrideOf({ service, owner }: Summarised, { override, replaced }: StoredEvidence): string {
  const before = replaced === undefined ? '' : `, instead of ${quoted(replaced.service)} (${quoted(replaced.owner)})`
  const many = override?.bulk_override === undefined ? '' : ' for this call and others at once'
  return (
    `a person set the service ${quoted(service)} and the owner ${quoted(owner)}${many}${before}, because ` +
    `${quoted(override?.reason ?? '')}`
  )
}

function inferenceOf(stored: Summarised): string {
  const { probability, alternatives } = JSON.parse(stored.inference) as Inference
  const [next] = alternatives
  const second =
    next === undefined ? '' : `; the next likeliest is ${quoted(next.service)} at ${percent(next.probability)}`
  return (
    'the call does not state its service; going by calls like it, it belongs to ' +
    `${named(stored)}${stored.owner === UNASSIGNED ? ',' : ''} with a probability of ${percent(probability)}${second}`
  )
}

function baselineOf(stored: Summarised, evidence: StoredEvidence): string {
  const { most_frequent_of, resolved_records = 0, of_this_class = 0 } = evidence
  const others = most_frequent_of === 'trace' ? 'of its trace' : 'that the same credential sent'
  if (resolved_records === 1) {
    const call = most_frequent_of === 'trace' ? 'one other call of its trace' : 'one other call of the same credential'
    return (
      `the call does not state its service; ${call} belongs to ${named(stored)}, so this one is assumed to ` +
      'belong there, too'
    )
  }
  return (
    `the call does not state its service; of ${resolved_records} calls ${others}, ${of_this_class} belong to ` +
    `${named(stored)}, so this one is assumed to belong there, too`
  )
}

const named = ({ service, owner }: Summarised): string =>
  owner === UNASSIGNED ? `${quoted(service)}, whose owner nobody knows` : `${quoted(service)} of ${quoted(owner)}`

const ruleOf = ({ rule }: StoredEvidence): string =>
  typeof rule === 'object'
    ? Object.entries(rule)
        .map(([name, value]) => `${name} = ${quoted(value)}`)
        .join(' and ')
    : 'of the pool'

/** Cut, not rounded: 0.7999 is below a floor of 80 %. A stored 1 is rounded, and no model is certain. */
const percent = (probability: string): string => {
  const tenths = Math.floor(Number(probability) * 1_000)
  if (tenths >= 1_000) return 'over 99.9 %'
  return tenths === 0 ? 'under 0.1 %' : `${tenths / 10} %`
}

function chargebackOf(stored: Summarised, { dispute }: StoredEvidence, priceUsd: string | null): string {
  const confidence = String(Number(stored.confidence))
  switch (stored.export_eligibility as ExportEligibility) {
    case 'eligible':
      return (
        `with a confidence of ${confidence} it may be charged ` +
        `back${stored.owner === UNASSIGNED ? ' to the service; which team that is, the directory does not say' : ''}` +
        (stored.cost_bound === 'upper' ? `; its cost is an upper bound: ${AT_INPUT_RATE}` : '')
      )
    case 'disputed':
      return `it is disputed, because ${quoted(dispute?.reason ?? '')}, and is not charged back meanwhile`
    case 'residency_restricted':
      return 'it is not charged back, because it was made outside the region to which the tenant is bound'
    case 'advisory':
      if (stored.usage_basis === 'estimated' && stored.degradation_state !== 'degraded_serving') {
        return 'it is not charged back, because its sender estimated the counts'
      }
      return (
        'it is an estimate for information only and not charged back, because no trained attribution model ' +
        'was in use when the call was made'
      )
    case 'notional':
      return 'it is not charged back, because nobody is billed for it'
    case 'implausible_cost': {
      const beside =
        priceUsd === null ? 'is too high for one call' : `cannot be right beside its price of ${priceUsd} USD`
      return (
        'it is not charged back until somebody overrides it, because the cost that its sender states, ' +
        `${stored.cost_usd} USD, ${beside}`
      )
    }
    case 'ambiguous_usage':
      return ambiguityOf(stored)
    case 'unpriced':
      return `it is not charged back, because ${Number(stored.cost_usd) > 0 ? 'a part of its cost' : 'its cost'} is unknown`
    case 'cost_upper_bound':
      return `it is not charged back, because its cost is an upper bound: ${AT_INPUT_RATE}`
    case 'below_floor': {
      const isSenders = stored.confidence === stored.attribution_confidence
      const whose = isSenders ? ', which its sender states,' : ''
      return (
        `its confidence of ${confidence}${whose} is below ${(CHARGEBACK_FLOOR / 10_000).toFixed(2)}, so it is ` +
        'not charged back'
      )
    }
  }
}

const AT_INPUT_RATE = 'no rate for its cached tokens is known, and they are billed at the input rate'

function ambiguityOf(stored: Summarised): string {
  const readings = usageReadings(stored)
  if (readings.length === 0)
    return 'it is not charged back, because its sender says that its token counts are ambiguous'
  return (
    'it is not charged back until a usage convention says what the counts of its sender mean ' +
    `(/api/v1/usage-conventions), because they can be read as ${readings.map(readingInWords).join(', or as ')}`
  )
}
