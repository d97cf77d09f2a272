import { idHex } from '../../ids/ids.js'
import { TAGS_MAX } from '../../invocations/invocation-schema.js'
import { COST_BASES, type CostBasis } from '../../records/bases.js'
import { readPair } from '../../records/dimensions.js'
import type { EvidenceBasis } from '../../records/interpretation.js'
import { EVIDENCE_BASES } from '../../records/interpretation.js'
import { FIELDS, type FieldKind, type FieldName, memberOf } from '../../records/record-fields.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import { USAGE_BASES, type UsageBasis } from '../../text/call-words.js'
import { withParts } from '../../valuation/cost/cost-bound.js'
import { type CostDetails, statedCostDoubt } from '../../valuation/cost/cost-details.js'
import { explainCost } from '../../valuation/cost/explain-cost.js'
import { type TokenParts, tokenParts } from '../../valuation/cost/token-parts.js'
import { eventOf } from '../records/stated-fields.js'
import { type MatchedBy, seenByOf, seenByText, sightingOf } from '../sightings/seen-by.js'
import { isDisputed, isOverridden } from './decided.js'
import { withAttributionOf } from './reattribute.js'
import { costOfRow, isRestricted, rowEligibility } from './row-eligibility.js'

const USAGE_KINDS: ReadonlySet<FieldKind> = new Set(['usd', 'wh', 'gco2e', 'optionalUsd', 'count'])
const USAGE_NAMES: ReadonlySet<FieldName> = new Set([
  'provider',
  'requested_model',
  'served_model',
  'cost_basis',
  'cost_bound',
  'cost_details',
  'usage_basis',
  'outcome',
  'energy_basis',
  'carbon_basis',
  'footprint_details',
  'service_tier',
  'speed',
  'billed_units',
  'assumptions',
  'served_from_cache',
  'region',
])
/** What was bought and what it cost: of two events of one call, all of it is taken from the same one. */
const USAGE_MEMBERS = FIELDS.filter(
  ({ name, kind }) => (USAGE_KINDS.has(kind) && name !== 'attempt') || USAGE_NAMES.has(name),
).map(memberOf)

/**
 * Whether one record's attribution is the stronger of two: a person's decision, then what no fail-open heuristic made,
 * then facts before inference, then confidence, then the kind of evidence. Equal ones: of the event that arrived first.
 */
export const isStronger = (one: AttributionRow, other: AttributionRow): boolean =>
  isBefore(strengthOf(one), strengthOf(other), idHex(one.id) < idHex(other.id))

const strengthOf = (row: AttributionRow): readonly number[] => [
  isOverridden(row) || isDisputed(row) ? 0 : 1,
  row.degradationState === 'degraded_serving' ? 1 : 0,
  factsOf(row),
  -row.confidence,
  EVIDENCE_BASES.indexOf(row.evidenceBasis as EvidenceBasis),
  row.receivedAtMs,
]

/**
 * Facts that name the service, then those that tell the owner alone, then what was inferred or allocated: one event
 * that
 * has all of it is decided in this order, too.
 */
const factsOf = ({ stageOrigin, evidenceBasis }: AttributionRow): number =>
  evidenceBasis === 'owner_resolved' ? 1 : stageOrigin === 'stage_a' ? 0 : 2

/**
 * Whether the absorbed record's usage is better known; equal ones: no. Of two spans of which one is around the other,
 * the inner one is nearer to the provider; LiteLLM alone writes what it charges on its outer one.
 */
function isAbsorbedBetter(winner: AttributionRow, absorbed: AttributionRow, { isInnerAbsorbed }: MergedBy): boolean {
  const isLiteLlm = winner.instrumentation === LITELLM && absorbed.instrumentation === LITELLM
  const inner = isLiteLlm || isInnerAbsorbed === undefined ? undefined : isInnerAbsorbed
  const rankOf = (row: AttributionRow, isInner: boolean | undefined): readonly number[] => [
    ...knowledgeOf(row),
    isInner === false ? 1 : 0,
    COST_BASES.indexOf(row.costBasis as CostBasis),
    // Claude Code states its dollars in its log events, and not in its spans.
    row.estimatedCostUsd === undefined ? 1 : 0,
    // At what price it was sold: both may be priced, of which one knows the tier.
    row.serviceTier === '' && row.speed === '' ? 1 : 0,
    -COUNT_MEMBERS.filter((member) => row[member] !== undefined).length,
  ]
  return isBefore(rankOf(absorbed, inner), rankOf(winner, inner === undefined ? undefined : !inner), false)
}

const LITELLM = 'litellm'

/** Who answers from a cache knows that nothing was bought; then what has a price, is reported, and is plausible. */
const knowledgeOf = ({ costBasis, costDetails, usageBasis }: AttributionRow): readonly number[] => [
  costBasis === 'local_cache' ? 0 : 1,
  costBasis === 'unpriced' ? 1 : 0,
  USAGE_BASES.indexOf(usageBasis as UsageBasis),
  statedCostDoubt(costDetails) === 'implausible' ? 1 : 0,
]

/** Counts that are parts of the two totals, or beside them. */
const [INPUT_PARTS, OUTPUT_PARTS] = [
  [
    'cachedInputTokens',
    'cachedAudioInputTokens',
    'cachedImageInputTokens',
    'cacheWriteTokens',
    'cacheWriteTtlSeconds',
    'cacheWrite5mTokens',
    'cacheWrite1hTokens',
    'audioInputTokens',
    'imageInputTokens',
  ],
  ['reasoningTokens', 'audioOutputTokens', 'imageOutputTokens'],
] as const
const TOOLS = ['webSearchCalls', 'fileSearchCalls', 'codeExecutionCalls'] as const
const COUNT_MEMBERS = ['inputTokens', 'outputTokens', ...INPUT_PARTS, ...OUTPUT_PARTS, ...TOOLS] as const

/** Compares lists of the same length, the first difference decides. @param ifEqual the result without a difference */
function isBefore(one: readonly number[], other: readonly number[], ifEqual: boolean): boolean {
  const at = one.findIndex((value, i) => value !== other[i])
  return at < 0 ? ifEqual : (one[at] as number) < (other[at] as number)
}

/** Why two records are merged. */
export interface MergedBy {
  readonly matchedBy: MatchedBy
  /** Of a span around another one. */
  readonly isInnerAbsorbed?: boolean
}

/**
 * A version that counts the call of two records once. Pure. The attribution stays, and what the other event states
 * besides comes to it: who called, ids, tags. Tokens, cost and footprint are those of the event that knows them better,
 * with the parts of its totals that only the other one states.
 *
 * @param winner without a person's decision
 */
export function mergedRow(
  winner: AttributionRow,
  absorbed: AttributionRow,
  by: MergedBy,
  validFromMs: number,
): AttributionRow {
  const [own, others] = [seenByOf(winner), seenByOf(absorbed)]
  const isUsageTaken = isAbsorbedBetter(winner, absorbed, by)
  const isTheirs = isUsageTaken && !others.also.some(({ usage }) => usage)
  const united = withFactsOf(winner, absorbed)
  const row = isUsageTaken ? withPartsOf(withUsageOf(united, absorbed), winner) : withPartsOf(united, absorbed)
  const ids = new Set([winner, absorbed].map(({ id }) => idHex(id)))
  return {
    ...row,
    validFromMs,
    outcome: row.outcome === '' ? absorbed.outcome || winner.outcome : row.outcome,
    costBound: costOfRow(row).costBound,
    exportEligibility: rowEligibility(row, isRestricted(winner) || isRestricted(absorbed)),
    seenBy: seenByText({
      also: [
        ...own.also.map((each) => (isUsageTaken ? { ...each, usage: false } : each)),
        sightingOf(absorbed, by.matchedBy, isTheirs),
        ...others.also.map((each) => (isUsageTaken ? each : { ...each, usage: false })),
      ],
      apart: [...new Set([...own.apart, ...others.apart])],
      perhaps: [...new Set([...(own.perhaps ?? []), ...(others.perhaps ?? [])])].filter((id) => !ids.has(id)),
    }),
  }
}

/** A record with what another one states of the same call, where it states nothing itself. */
function withFactsOf(row: AttributionRow, other: AttributionRow): AttributionRow {
  const isTraced = row.spanId !== '' || (row.traceId !== '' && row.traceId !== other.traceId)
  const { traceId, spanId, parentSpanId } = other
  const isPlaced = [row.k8sNamespace, row.k8sWorkload, row.workloadIdentity].some((name) => name !== '')
  const { k8sNamespace, k8sWorkload, workloadIdentity } = other
  return {
    ...row,
    ...(!isTraced && spanId !== '' && { traceId, spanId, parentSpanId }),
    ...(row.traceId === '' && { traceId }),
    ...(!isPlaced && { k8sNamespace, k8sWorkload, workloadIdentity }),
    responseId: row.responseId || other.responseId,
    requestId: row.requestId || other.requestId,
    operationId: row.operationId || other.operationId,
    attempt: row.attempt ?? other.attempt,
    identityHash: isNobody(row.identityHash) ? other.identityHash : row.identityHash,
    tags: unitedTags(row.tags, other.tags),
    dimensions: unitedPairs(row.dimensions, other.dimensions),
  }
}

const isNobody = (hash: Uint8Array): boolean => hash.every((byte) => byte === 0)

function unitedTags(own: AttributionRow['tags'], others: AttributionRow['tags']): AttributionRow['tags'] {
  if (own === undefined || others === undefined) return own ?? others
  const all = [...Object.entries(own), ...Object.entries(others).filter(([key]) => !Object.hasOwn(own, key))]
  return Object.fromEntries(all.slice(0, TAGS_MAX))
}

/** Of a declared tag that the one event does not have, the value of the other. */
function unitedPairs(own: readonly string[], others: readonly string[]): readonly string[] {
  const known = new Map(others.map((pair) => [readPair(pair)[0], pair]))
  return own.map((pair) => {
    const [key, value] = readPair(pair)
    return value === '' ? (known.get(key) ?? pair) : pair
  })
}

/**
 * A record with the parts of its totals that only another one of the same call states: of equal totals. What they cost
 * follows from the rates in the record's own details.
 */
function withPartsOf(row: AttributionRow, other: AttributionRow): AttributionRow {
  // Both of its readings are priced by its own parts.
  if (row.usageBasis === 'ambiguous') return row
  const parts: Partial<Record<(typeof COUNT_MEMBERS)[number], number>> = {}
  const take = (names: readonly (typeof COUNT_MEMBERS)[number][]): void => {
    for (const name of names) if (row[name] === undefined && other[name] !== undefined) parts[name] = other[name]
  }
  if (row.inputTokens !== undefined && row.inputTokens === other.inputTokens) take(INPUT_PARTS)
  if (row.outputTokens !== undefined && row.outputTokens === other.outputTokens) take(OUTPUT_PARTS)
  if (Object.keys(parts).length === 0) return row
  const all = { ...row, ...parts }
  const priced = tokenParts(all, all.inputTokens ?? 0, all.outputTokens ?? 0)
  if (priced === undefined) return row
  const { upper_bound_charged: charged = false } = JSON.parse(other.costDetails) as CostDetails
  return { ...all, ...costOf(all, priced, charged) }
}

/** Of a record that has a price, at least of a part; any other cost does not depend on its parts. */
function costOf(row: AttributionRow, parts: TokenParts, charged: boolean): Partial<AttributionRow> {
  if (!PRICED.has(row.costBasis)) return {}
  const stored = JSON.parse(row.costDetails) as CostDetails
  const details = withParts(stored, parts, charged)
  const { totalUsd: costUsd } = explainCost(details, eventOf(row, NOT_RECALLED))
  return { costUsd, ...(details !== stored && { costDetails: JSON.stringify(details) }) }
}

const PRICED: ReadonlySet<string> = new Set<CostBasis>(['price_book', 'tenant_price', 'unpriced'])

const NOT_RECALLED = {
  servedModel: undefined,
  attributedIdentity: undefined,
  attributedService: undefined,
  attributionConfidence: undefined,
}

/** A record with the usage of another. @param usage also of another version of the record */
export function withUsageOf(row: AttributionRow, usage: AttributionRow): AttributionRow {
  const taken = Object.fromEntries(
    USAGE_MEMBERS.map((member) => [member, usage[member as keyof AttributionRow]]),
  ) as Partial<AttributionRow>
  return { ...row, ...taken }
}

/**
 * A record by itself again: its own usage, and its present attribution.
 *
 * @param own its latest version that counts no other event
 * @param present its latest version without a person's decision
 * @param apart hex ids of the records that it is never merged with again
 */
export function separateRow(
  own: AttributionRow,
  present: AttributionRow,
  apart: readonly string[],
  validFromMs: number,
): AttributionRow {
  const row = withAttributionOf(own, present)
  const known = [...seenByOf(own).apart, ...seenByOf(present).apart, ...apart].filter((id) => id !== idHex(own.id))
  return {
    ...row,
    validFromMs,
    costBound: costOfRow(row).costBound,
    exportEligibility: rowEligibility(row, isRestricted(own)),
    seenBy: seenByText({ also: [], apart: [...new Set(known)] }),
  }
}
