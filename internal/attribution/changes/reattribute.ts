import type { AdmittedInvocation } from '../../invocations/invocation-group.js'
import { foldKey, readPair } from '../../records/dimensions.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import type { Batch } from '../actor/batch.js'
import { type Disposition, handedOn, type Stage } from '../actor/stage.js'
import type { LearnedFact } from '../actor/trace-facts.js'
import type { AppliedRule } from '../stages/a/evidence.js'
import { isUnnamed, recall } from './recall.js'

/** The stages in order, with their current knowledge; their rows keep cost and consumption of the calls. */
export type ReattributionStages = (rowOf: (admitted: AdmittedInvocation) => AttributionRow) => readonly Stage[]

export interface Reattributed {
  /** New versions of the records whose attribution has changed. */
  readonly changed: readonly AttributionRow[]
  /** Number of records that would be attributed to an identity whose name is not stored; they stay unchanged. */
  readonly unnamed: number
}

/**
 * Re-attributes records with the stages' own rules and current knowledge.
 *
 * @param peers other records of the same traces: they contribute evidence and stay unchanged
 * @param basisOf the basis that a stage must use instead of the current one
 * @param validFromMs start of validity of the new versions
 */
export async function reattribute(
  rows: readonly AttributionRow[],
  peers: readonly AttributionRow[],
  {
    stages: stagesFor,
    nameOf,
    basisOf,
    validFromMs,
  }: {
    readonly stages: ReattributionStages
    readonly nameOf: (hash: string) => string | undefined
    readonly basisOf: (stage: Stage['name']) => string | undefined
    readonly validFromMs: number
  },
): Promise<Reattributed> {
  const rowOf = new Map<AdmittedInvocation, AttributionRow>()
  const recalled = [...rows, ...peers].map((row) => {
    const admitted = recall(row, nameOf)
    rowOf.set(admitted, row)
    return admitted
  })
  const wanted = new Set(recalled.slice(0, rows.length))
  const found = (admitted: AdmittedInvocation): AttributionRow => {
    const row = rowOf.get(admitted)
    if (row === undefined) throw new Error('a stage returned an event without a record')
    return row
  }

  const changed: AttributionRow[] = []
  let unnamed = 0
  let events: readonly AdmittedInvocation[] = recalled
  let facts: readonly LearnedFact[] = []
  for (const stage of stagesFor(found)) {
    const handled = await handle(stage, events, { facts, basis: basisOf(stage.name), validFromMs })
    const { dispositions } = handled
    facts = handled.facts
    for (const [i, disposition] of dispositions.entries()) {
      const admitted = events[i]
      if (admitted === undefined || disposition.kind !== 'resolved' || !wanted.has(admitted)) continue
      const row = withAttributionOf(found(admitted), disposition.row)
      if (isUnnamed(row.owner) || wasMappedByName(found(admitted), admitted)) unnamed++
      else if (isReattributed(found(admitted), row)) changed.push(row)
    }
    events = events.flatMap((admitted, i) => {
      const disposition = dispositions[i]
      const isPeer = !wanted.has(admitted)
      // Peers contribute to the traces, and are decided no further.
      if (disposition?.kind !== 'hand_on' || (isPeer && stage.name !== 'a')) return []
      const next = handedOn(admitted, disposition)
      rowOf.set(next, found(admitted))
      if (!isPeer) wanted.add(next)
      return [next]
    })
  }
  return { changed, unnamed }
}

/** Models have a time limit per batch, so batches must be as small as in live traffic. */
const BATCH_EVENTS_MAX = 500

interface Handled {
  readonly dispositions: readonly Disposition[]
  readonly facts: readonly LearnedFact[]
}

async function handle(
  stage: Stage,
  events: readonly AdmittedInvocation[],
  {
    facts,
    basis,
    validFromMs,
  }: Pick<Handled, 'facts'> & { readonly basis: string | undefined; readonly validFromMs: number },
): Promise<Handled> {
  const open = await stage.open(0)
  // Facts and traces need all events at once, because events of one trace provide evidence for each other.
  const portion = stage.name === 'a' || stage.name === 't' ? Math.max(1, events.length) : BATCH_EVENTS_MAX
  const dispositions: Disposition[] = []
  const learned: LearnedFact[] = []
  for (let from = 0; from < events.length; from += portion) {
    const invocations = events.slice(from, from + portion)
    const batch: Batch = { stage: stage.name, partition: 0, token: `again.${from}`, validFromMs, invocations, facts }
    dispositions.push(...(await open.handle(batch, basis)))
    learned.push(...(open.factsOf?.(batch) ?? []))
  }
  return { dispositions, facts: learned }
}

/** Replaces the attribution; the facts of the call stay. @param stageRow of the same call */
export const withAttributionOf = (row: AttributionRow, stageRow: AttributionRow): AttributionRow => ({
  ...row,
  validFromMs: stageRow.validFromMs,
  service: stageRow.service,
  owner: stageRow.owner,
  outputState: stageRow.outputState,
  stageOrigin: stageRow.stageOrigin,
  confidence: stageRow.confidence,
  confidenceBand: stageRow.confidenceBand,
  evidenceBasis: stageRow.evidenceBasis,
  modelVersion: stageRow.modelVersion,
  degradationState: stageRow.degradationState,
  freshness: stageRow.freshness,
  exportEligibility: stageRow.exportEligibility,
  contested: stageRow.contested,
  evidence: stageRow.evidence,
  inference: stageRow.inference,
  dimensions: tagsFrom(row, stageRow),
})

/** Fields that justify a new version. A different explanation of the same attribution does not. */
const COMPARED_FIELDS = [
  'service',
  'owner',
  'outputState',
  'stageOrigin',
  'confidence',
  'evidenceBasis',
  'modelVersion',
  'degradationState',
  'freshness',
  'exportEligibility',
  'contested',
] as const satisfies readonly (keyof AttributionRow)[]

const isReattributed = (before: AttributionRow, after: AttributionRow): boolean =>
  COMPARED_FIELDS.some((member) => before[member] !== after[member]) ||
  before.dimensions.join('\n') !== after.dimensions.join('\n')

/** Whether a mapping rule decided by a part of an identity whose name is not stored: it cannot be asked again. */
const wasMappedByName = (before: AttributionRow, { invocation }: AdmittedInvocation): boolean =>
  isUnnamed(invocation.attributedIdentity ?? '') &&
  (appliedRule(before)?.when ?? []).some(({ field, match }) => field === 'identity' && match !== 'exact')

/**
 * Of a re-attribution, what mapping rules have to do with: records that a rule decided before, or decides now, and
 * those that follow them through their trace.
 *
 * @param ruleId of one rule; undefined: any
 */
export function ofMapping(
  ruleId: string | undefined,
  before: readonly AttributionRow[],
  { changed, unnamed }: Reattributed,
): Reattributed {
  const isSought = (row: AttributionRow | undefined): boolean => {
    const rule = row === undefined ? undefined : appliedRule(row)
    return rule !== undefined && (ruleId === undefined || rule.id === ruleId)
  }
  const previous = new Map(before.map((row) => [hexOf(row.id), row]))
  const was = ({ id }: AttributionRow): AttributionRow | undefined => previous.get(hexOf(id))
  const decided = new Set(changed.filter((row) => isSought(row) || isSought(was(row))))
  const traces = new Set([...decided].map(({ traceId }) => traceId).filter((traceId) => traceId !== ''))
  const follows = (row: AttributionRow): boolean =>
    traces.has(row.traceId) && [row, was(row)].some((version) => version?.evidenceBasis === 'trace_correlated')
  return { changed: changed.filter((row) => decided.has(row) || follows(row)), unnamed }
}

/** Of a re-attribution, what one of others has not the same of: what lies between them moves it. */
export function differing({ changed, unnamed }: Reattributed, others: readonly Reattributed[]): Reattributed {
  const rows = others.map((other) => new Map(other.changed.map((row) => [hexOf(row.id), row])))
  return {
    changed: changed.filter((row) =>
      rows.some((of) => {
        const same = of.get(hexOf(row.id))
        return same === undefined || isReattributed(same, row)
      }),
    ),
    unnamed: Math.max(0, ...others.map((other) => unnamed - other.unnamed)),
  }
}

/** The rule that decided a record. */
const appliedRule = ({ evidenceBasis, evidence }: AttributionRow): AppliedRule | undefined =>
  evidenceBasis === 'mapping_rule' ? (JSON.parse(evidence) as { mapping_rule?: AppliedRule }).mapping_rule : undefined

/**
 * The declared tags of a record after a re-attribution: those that rules add change, those that the event states do
 * not.
 */
export function tagsFrom(before: AttributionRow, after: AttributionRow): readonly string[] {
  const [was, is] = [before, after].map((row) => new Set(Object.keys(appliedRule(row)?.tags ?? {}).map(foldKey)))
  if (was === undefined || is === undefined || was.size + is.size === 0) return before.dimensions
  const now = new Map(after.dimensions.map((pair) => [keyOf(pair), pair]))
  const kept = before.dimensions.map((pair) => (was.has(keyOf(pair)) ? now.get(keyOf(pair)) : undefined) ?? pair)
  const known = new Set(before.dimensions.map(keyOf))
  const set = kept.map((pair) => (is.has(keyOf(pair)) ? (now.get(keyOf(pair)) ?? pair) : pair))
  return [...set, ...[...now].flatMap(([key, pair]) => (is.has(key) && !known.has(key) ? [pair] : []))]
}

const keyOf = (pair: string): string => readPair(pair)[0]

const hexOf = (id: Uint8Array): string => Buffer.from(id.buffer, id.byteOffset, id.length).toString('hex')
