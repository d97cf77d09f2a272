import { idHex } from '../../ids/ids.js'
import { COST_BASES, type CostBasis } from '../../records/bases.js'
import type { DegradationState, EvidenceBasis } from '../../records/interpretation.js'
import { EVIDENCE_BASES, eligibilityOf } from '../../records/interpretation.js'
import { FIELDS, type FieldKind, type FieldName, memberOf } from '../../records/record-fields.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import { USAGE_BASES, type UsageBasis } from '../../text/call-words.js'
import { statedCostDoubt } from '../../valuation/cost/cost-details.js'
import { type MatchedBy, seenByOf, seenByText, sightingOf } from '../sightings/seen-by.js'
import { isDisputed, isOverridden } from './decided.js'
import { withAttributionOf } from './reattribute.js'

const USAGE_KINDS: ReadonlySet<FieldKind> = new Set(['usd', 'wh', 'gco2e', 'optionalUsd', 'count'])
const USAGE_NAMES: ReadonlySet<FieldName> = new Set([
  'provider',
  'requested_model',
  'served_model',
  'cost_basis',
  'cost_details',
  'usage_basis',
  'outcome',
  'energy_basis',
  'carbon_basis',
  'footprint_details',
  'service_tier',
  'served_from_cache',
  'region',
])
/** What was bought and what it cost: of two events of one call, all of it is taken from the same one. */
const USAGE_MEMBERS = FIELDS.filter(({ name, kind }) => USAGE_KINDS.has(kind) || USAGE_NAMES.has(name)).map(memberOf)

/**
 * Whether one record's attribution is the stronger of two: a person's decision, then what no fail-open heuristic made,
 * then confidence, then the kind of evidence. Equal ones: of the event that arrived first.
 */
export const isStronger = (one: AttributionRow, other: AttributionRow): boolean =>
  isBefore(strengthOf(one), strengthOf(other), idHex(one.id) < idHex(other.id))

const strengthOf = (row: AttributionRow): readonly number[] => [
  isOverridden(row) || isDisputed(row) ? 0 : 1,
  row.degradationState === 'degraded_serving' ? 1 : 0,
  -row.confidence,
  EVIDENCE_BASES.indexOf(row.evidenceBasis as EvidenceBasis),
  row.receivedAtMs,
]

/** Whether a record's usage is better known than another's; equal ones: no. */
const isBetterKnown = (one: AttributionRow, other: AttributionRow): boolean =>
  isBefore(usageRankOf(one), usageRankOf(other), false)

/** Who answers from a cache knows that nothing was bought; then what has a price, is reported, has the better basis. */
const usageRankOf = ({ costBasis, costDetails, usageBasis }: AttributionRow): readonly number[] => [
  costBasis === 'local_cache' ? 0 : 1,
  costBasis === 'unpriced' ? 1 : 0,
  USAGE_BASES.indexOf(usageBasis as UsageBasis),
  statedCostDoubt(costDetails) === 'implausible' ? 1 : 0,
  COST_BASES.indexOf(costBasis as CostBasis),
]

/** Compares lists of the same length, the first difference decides. @param ifEqual the result without a difference */
function isBefore(one: readonly number[], other: readonly number[], ifEqual: boolean): boolean {
  const at = one.findIndex((value, i) => value !== other[i])
  return at < 0 ? ifEqual : (one[at] as number) < (other[at] as number)
}

/**
 * A version that counts the call of two records once. Pure. The attribution and everything about the caller stay;
 * tokens, cost and footprint are those of the event that knows them better.
 *
 * @param winner without a person's decision
 */
export function mergedRow(
  winner: AttributionRow,
  absorbed: AttributionRow,
  matchedBy: MatchedBy,
  validFromMs: number,
): AttributionRow {
  const [own, others] = [seenByOf(winner), seenByOf(absorbed)]
  const isUsageTaken = isBetterKnown(absorbed, winner)
  const isTheirs = isUsageTaken && !others.also.some(({ usage }) => usage)
  const row = isUsageTaken ? withUsageOf(winner, absorbed) : winner
  return {
    ...row,
    validFromMs,
    outcome: row.outcome === '' ? absorbed.outcome || winner.outcome : row.outcome,
    responseId: winner.responseId === '' ? absorbed.responseId : winner.responseId,
    exportEligibility: eligibility(row, isRestricted(winner) || isRestricted(absorbed)),
    seenBy: seenByText({
      also: [
        ...own.also.map((each) => (isUsageTaken ? { ...each, usage: false } : each)),
        sightingOf(absorbed, matchedBy, isTheirs),
        ...others.also.map((each) => (isUsageTaken ? each : { ...each, usage: false })),
      ],
      apart: [...new Set([...own.apart, ...others.apart])],
    }),
  }
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
    exportEligibility: eligibility(row, isRestricted(own)),
    seenBy: seenByText({ also: [], apart: [...new Set(known)] }),
  }
}

const isRestricted = ({ exportEligibility }: AttributionRow): boolean => exportEligibility === 'residency_restricted'

const eligibility = (
  { confidence, costBasis, costDetails, degradationState }: AttributionRow,
  isResidencyRestricted: boolean,
): string =>
  eligibilityOf({
    confidence,
    isPriced: costBasis !== 'unpriced',
    isNotional: costBasis === 'notional',
    isCostImplausible: statedCostDoubt(costDetails) === 'implausible',
    degradationState: degradationState as DegradationState,
    isResidencyRestricted,
  })
