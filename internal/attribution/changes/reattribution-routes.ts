import { CHANGES_CHECKPOINT } from '../../../streams/records.js'
import type { Watermark } from '../../broker/watermark.js'
import type { MutationRequest, Reply } from '../../http/mutations/mutation.js'
import type { Mutate } from '../../http/mutations/mutations.js'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import type { TenantRoute } from '../../http/route.js'
import { idHex, parseId, type TenantIds } from '../../ids/ids.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import type { Dimension } from '../../records/dimensions.js'
import { withStoreErrors } from '../../store/failures.js'
import {
  END_OF_TIME_MS,
  type RecordVersions,
  type StoredAttributionDetail,
} from '../../store/queries/records/attributions.js'
import { toRecord } from '../records/record.js'
import { findVisible, untilVisible } from '../records/visible.js'
import type { Change, RequestedChange, RequestedDecision } from './change.js'
import { type DecisionRefusal, refusalOf } from './decided.js'
import {
  DISPUTE_ATTRIBUTION,
  disputeBody,
  EXAMPLE_DISPUTE,
  EXAMPLE_OVERRIDE,
  OVERRIDE_ATTRIBUTION,
  overrideBody,
  UNDO_DISPUTE,
  UNDO_MERGE,
  UNDO_OVERRIDE,
} from './reattribution-contract.js'

export interface ChangeRoutesDeps {
  readonly mutate: Mutate
  readonly idsOf: (tenantId: string) => TenantIds
  readonly watermark: Watermark
  /** The tag keys that a tenant has declared. */
  readonly dimensionsOf: (tenantId: string) => readonly Dimension[]
  readonly readVersions: (tenantId: string, recordId: string) => Promise<RecordVersions>
  /**
   * Stores a change durably, in the order in which changes take effect.
   *
   * @returns its sequence in CHANGES
   * @throws NotStored
   */
  readonly publish: (change: Change) => Promise<number>
}

const RESOURCE = 'attribution'
// The record of an admitted event appears only moments later.
const COMMON = { access: 'admin:config', rateClass: 'control', mayAppear: true } as const
/** Time to wait for a change to take effect before answering 202. */
const EFFECT_MS_MAX = 3_000

/** `/v1/attribution/{id}/override` and `/dispute`. */
export function changeRoutes(deps: ChangeRoutesDeps): readonly TenantRoute[] {
  const path = (suffix: string): string => `/v1/attribution/:id/${suffix}`
  return [
    deps.mutate({
      ...COMMON,
      method: 'post',
      path: path('override'),
      needsStepUp: true,
      action: 'attribution.override',
      operation: OVERRIDE_ATTRIBUTION,
      body: { schema: overrideBody, example: EXAMPLE_OVERRIDE },
      handle: (request) => decide(request, { kind: 'override', ...request.body }, deps),
    }),
    deps.mutate({
      ...COMMON,
      method: 'del',
      path: path('override'),
      needsStepUp: true,
      action: 'attribution.undo_override',
      operation: UNDO_OVERRIDE,
      handle: (request) => decide(request, { kind: 'undo_override' }, deps),
    }),
    deps.mutate({
      ...COMMON,
      method: 'post',
      path: path('dispute'),
      action: 'attribution.dispute',
      operation: DISPUTE_ATTRIBUTION,
      body: { schema: disputeBody, example: EXAMPLE_DISPUTE },
      handle: (request) => decide(request, { kind: 'dispute', ...request.body }, deps),
    }),
    deps.mutate({
      ...COMMON,
      method: 'del',
      path: path('dispute'),
      action: 'attribution.undo_dispute',
      operation: UNDO_DISPUTE,
      handle: (request) => decide(request, { kind: 'undo_dispute' }, deps),
    }),
    deps.mutate({
      ...COMMON,
      method: 'del',
      path: path('merge'),
      needsStepUp: true,
      action: 'attribution.undo_merge',
      operation: UNDO_MERGE,
      handle: (request) => decide(request, { kind: 'undo_merge' }, deps),
    }),
  ]
}

/** Replies 503 when ClickHouse is unavailable: a published change stays published, and a retry finds it. */
async function decide(
  request: MutationRequest<unknown>,
  decision: RequestedDecision,
  deps: ChangeRoutesDeps,
): Promise<Reply | Problem> {
  const { tenantId } = request.caller
  const refusal = refusalOfId('attr', request.parameter, deps.idsOf(tenantId), RESOURCE)
  const id = parseId('attr', request.parameter)
  if (refusal !== undefined || id === undefined) return refusal ?? noSuch(RESOURCE)
  const change: RequestedChange = {
    id: request.newId('chg'),
    tenantId,
    recordId: idHex(id),
    actor: request.caller.principal,
    decision,
  }
  const before = await withStoreErrors(() =>
    findVisible(() => deps.readVersions(tenantId, change.recordId), deps.watermark),
  )
  if ('code' in before) return before
  // Skipped for a repeated request: its first attempt may have changed the state already.
  const conflict = request.isRepeat ? undefined : refusalOf(stateOf(before.record), decision)
  if (conflict !== undefined) return problem('CONFLICT', CONFLICTS[conflict])

  const sequence = await deps.publish(change)
  if (!(await deps.watermark.isDone(CHANGES_CHECKPOINT, sequence, EFFECT_MS_MAX))) {
    await deps.publish({ ...change, decision: { kind: 'promised', decided: decision.kind, traceId: request.traceId } })
    return queued(request.parameter)
  }
  return withStoreErrors(() => outcomeOf(change, before.record, request.parameter, deps))
}

async function outcomeOf(
  { id, tenantId, recordId, decision }: RequestedChange,
  before: StoredAttributionDetail,
  parameter: string,
  deps: ChangeRoutesDeps,
): Promise<Reply | Problem> {
  const versions = await deps.readVersions(tenantId, recordId)
  const closed = versions.closedBy(END_OF_TIME_MS).find(({ change_id }) => change_id === id)
  // Another change took effect first, so that the record was no longer in a suitable state for this one.
  if (closed === undefined) return problem('CONFLICT', CONFLICTS[CONFLICT_OF[decision.kind]])
  const changedAtMs = Number(closed.closed_at_ms)
  const after = versions.at(changedAtMs)
  if (after === undefined) throw new Error('the changed record has no current version')
  // The next read on this gateway must show the same version as this response.
  await untilVisible(changedAtMs, deps.watermark)
  const changes = { before: auditedOf(before), after: auditedOf(after) }
  if (decision.kind !== 'override' && decision.kind !== 'dispute') {
    return { status: 204, target: parameter, changes }
  }
  return {
    status: 200,
    body: toRecord(after, deps.dimensionsOf(tenantId)),
    target: parameter,
    changes: { ...changes, after: { ...changes.after, reason: decision.reason } },
  }
}

const queued = (id: string): Reply => ({ status: 202, body: { id, status: 'queued' }, target: id })

const stateOf = ({ evidence_basis, output_state, seen_by }: StoredAttributionDetail) => {
  return { evidenceBasis: evidence_basis, outputState: output_state, seenBy: seen_by }
}

const auditedOf = ({ service, owner, output_state, evidence_basis, confidence }: StoredAttributionDetail) => {
  return { service, owner, output_state, evidence_basis, confidence }
}

const CONFLICTS: Readonly<Record<DecisionRefusal, string>> = {
  already_overridden: 'The attribution is already overridden; undo that override first.',
  not_overridden: 'The attribution is not overridden.',
  already_disputed: 'The attribution is already disputed.',
  not_disputed: 'The attribution is not disputed.',
  not_merged: 'The attribution counts no other event, or one that is no longer stored.',
}
const CONFLICT_OF: Readonly<Record<RequestedDecision['kind'], DecisionRefusal>> = {
  override: 'already_overridden',
  undo_override: 'not_overridden',
  dispute: 'already_disputed',
  undo_dispute: 'not_disputed',
  undo_merge: 'not_merged',
}
