import type { Caller } from '../../auth/authenticate.js'
import type { Watermark } from '../../broker/watermark.js'
import { byCredentialId } from '../../filters/credentials.js'
import { readFilteredQuery } from '../../filters/parse.js'
import type { Exchange } from '../../http/exchange.js'
import { pageOf, readPosition } from '../../http/resource/collection.js'
import { answerFromStore } from '../../http/resource/from-store.js'
import type { CursorCodec } from '../../http/resource/pages.js'
import type { Route } from '../../http/route.js'
import { formatId, hasTagOf, idHex, parseId, type TenantIds } from '../../ids/ids.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import type { Dimension } from '../../records/dimensions.js'
import type { EvidenceBasis } from '../../records/interpretation.js'
import { TOO_MANY_QUERIES } from '../../store/failures.js'
import type { StoredWeight } from '../../store/queries/attribution/allocation-weights.js'
import type {
  RecordVersions,
  StoredAttribution,
  StoredAttributionDetail,
} from '../../store/queries/records/attributions.js'
import type { AttributionView, RecordsQuestion } from '../../store/queries/records/list-records.js'
import type { After } from '../../store/queries/records/reading-plan.js'
import { keyOf } from '../../store/queries/records/record-order.js'
import type { SimilarQuestion, SimilarRecord } from '../../store/queries/records/similar.js'
import type { ExplainByModel } from '../stages/b/explain-by-model.js'
import { explain, weightsInstantOf } from './explanation.js'
import { toRecord } from './record.js'
import { GET_ATTRIBUTION, LIST_ATTRIBUTIONS } from './record-contract.js'
import { LIST_SIMILAR, shownSimilar, similarTo } from './similar.js'
import { findVisible, type VisibleRecord } from './visible.js'

export interface AttributionRoutesDeps {
  /** Undefined when the tenant has too many concurrent queries. */
  readonly list: (
    question: RecordsQuestion,
    signal: AbortSignal,
  ) => Promise<{ readonly value: StoredAttribution[] } | undefined>
  readonly readVersions: (tenantId: string, idHex: string, signal: AbortSignal) => Promise<RecordVersions>
  readonly watermark: Pick<Watermark, 'latest' | 'renewed'>
  /** The hex id of the record that counts the call of a record that has no valid version; undefined if none does. */
  readonly mergedInto: (
    tenantId: string,
    recordId: string,
    byMs: number,
    signal: AbortSignal,
  ) => Promise<string | undefined>
  /** Undefined when the tenant has too many concurrent queries. */
  readonly similar: (
    question: SimilarQuestion,
    signal: AbortSignal,
  ) => Promise<{ readonly value: readonly SimilarRecord[] } | undefined>
  readonly findWeights: (tenantId: string, asOfMs: number, signal: AbortSignal) => Promise<readonly StoredWeight[]>
  readonly explainModel: ExplainByModel
  /** Services of the directory that a name may stand for. */
  readonly nearestServices: (tenantId: string, name: string) => Promise<readonly string[]>
  readonly cursors: CursorCodec
  readonly idsOf: (tenantId: string) => TenantIds
  /** The tag keys that a tenant has declared. */
  readonly dimensionsOf: (tenantId: string) => readonly Dimension[]
  /** Names of a tenant's credentials, by id. */
  readonly credentialNames: (tenantId: string) => ReadonlyMap<string, string>
  readonly clock: () => number
}

/** What a list of records is read with. */
export type ListDeps = Pick<
  AttributionRoutesDeps,
  'list' | 'watermark' | 'cursors' | 'dimensionsOf' | 'credentialNames' | 'clock'
>

const PATH = '/v1/attribution'

/** `GET /v1/attribution`, `GET /v1/attribution/{id}`, and the records that resemble one. */
export function attributionRoutes(deps: AttributionRoutesDeps): readonly Route[] {
  return [
    {
      method: 'get',
      path: PATH,
      operation: LIST_ATTRIBUTIONS,
      access: 'read:attribution',
      rateClass: 'read',
      handle: (exchange, caller) => answerWithPage(exchange, caller, PATH, deps),
    },
    {
      method: 'get',
      path: `${PATH}/:id`,
      operation: GET_ATTRIBUTION,
      access: 'read:attribution',
      rateClass: 'read',
      handle: (exchange, caller) => answerFromStore(exchange, (signal) => get(exchange, caller, deps, signal)),
    },
    {
      method: 'get',
      path: `${PATH}/:id/similar`,
      operation: LIST_SIMILAR,
      access: 'read:attribution',
      rateClass: 'read',
      handle: (exchange, caller) => answerFromStore(exchange, (signal) => similar(exchange, caller, deps, signal)),
    },
  ]
}

/**
 * Answers with a page of records.
 *
 * @param name route and view, to which cursors are bound besides sort and filters
 * @param view the part of the tenant's records that the caller may see; all if absent
 */
export const answerWithPage = (
  exchange: Exchange,
  caller: Caller,
  name: string,
  deps: ListDeps,
  view?: AttributionView,
): Promise<void> => answerFromStore(exchange, (signal) => list(exchange, caller, name, deps, view, signal))

async function list(
  exchange: Exchange,
  { tenantId }: Caller,
  name: string,
  { cursors, clock, watermark, dimensionsOf, credentialNames, list: listRecords }: ListDeps,
  view: AttributionView | undefined,
  signal: AbortSignal,
): Promise<void> {
  const dimensions = dimensionsOf(tenantId)
  const read = readFilteredQuery(exchange.query, dimensions)
  if (!read.ok) return exchange.replyProblem(read.problem)
  const { sort, digest, ...position } = read.query
  const conditions = byCredentialId(read.query.conditions, () => credentialNames(tenantId))
  // Once providers were sorted as they were stated: a cursor to a place in that order is of another query.
  const order = sort.field === 'provider' ? ' by shown name' : ''
  const question = { tenantId, query: `${name} ${digest}${order}` }
  const page = readPosition(position, question, { cursors, nowMs: clock(), snapshotMs: await watermark.latest() })
  if (!page.ok) return exchange.replyProblem(page.problem)
  const { snapshotMs, limit } = page.request
  const [value = '', lastIdHex = ''] = page.request.after ?? []
  const after: After | undefined = page.request.after && { value, idHex: lastIdHex }

  // One row more than the page shows whether another page follows.
  const rows = await listRecords({ tenantId, snapshotMs, conditions, sort, after, limit: limit + 1, view }, signal)
  if (rows === undefined) return exchange.replyProblem(TOO_MANY_QUERIES)
  exchange.replyJson(
    '200 OK',
    pageOf(
      page.request,
      rows.value,
      (row) => keyOf(row, sort.field),
      (row) => toRecord(row, dimensions),
    ),
  )
}

async function get(
  exchange: Exchange,
  { tenantId }: Caller,
  deps: AttributionRoutesDeps,
  signal: AbortSignal,
): Promise<void> {
  const found = await findOwn(exchange.parameter, tenantId, deps, signal)
  if ('code' in found) return exchange.replyProblem(found)
  const { record: stored, versions, atMs } = found
  const weightsAt = weightsInstantOf(stored)
  const [weights, model] = await Promise.all([
    weightsAt === undefined ? [] : deps.findWeights(tenantId, weightsAt, signal),
    deps.explainModel(tenantId, stored, atMs),
  ])
  exchange.replyJson('200 OK', {
    ...toRecord(stored, deps.dimensionsOf(tenantId)),
    event_tags: stored.tags,
    explanation: {
      ...explain(stored, weights, versions.closedBy(atMs), model),
      suggested_services: isUndeclared(stored)
        ? (await deps.nearestServices(tenantId, stored.service)).filter((name) => name !== stored.service)
        : [],
    },
  })
}

/** The record of an id in a path, as far as the tenant may read it. */
async function findOwn(
  parameter: string,
  tenantId: string,
  deps: AttributionRoutesDeps,
  signal: AbortSignal,
): Promise<VisibleRecord<RecordVersions> | Problem> {
  const id = parseId('attr', parameter)
  if (id === undefined) return problem('NOT_FOUND', 'No attribution has this id.')
  if (!hasTagOf(id, deps.idsOf(tenantId))) {
    return problem('TENANT_MISMATCH', 'The attribution belongs to another tenant.')
  }
  const found = await findVisible(() => deps.readVersions(tenantId, idHex(id), signal), deps.watermark)
  return 'code' in found ? orMerged(found, tenantId, idHex(id), deps, signal) : found
}

/** Suggests records that may show the same call, as of the instant of the record. */
async function similar(
  exchange: Exchange,
  { tenantId }: Caller,
  deps: AttributionRoutesDeps,
  signal: AbortSignal,
): Promise<void> {
  const found = await findOwn(exchange.parameter, tenantId, deps, signal)
  if ('code' in found) return exchange.replyProblem(found)
  const { record, atMs } = found
  const question = similarTo(record, tenantId, atMs)
  const candidates = question === undefined ? { value: [] } : await deps.similar(question, signal)
  if (candidates === undefined) return exchange.replyProblem(TOO_MANY_QUERIES)
  exchange.replyJson('200 OK', shownSimilar(record, candidates.value))
}

/** A record whose call another one counts is not there any more: the answer names that one. */
async function orMerged(
  found: Problem,
  tenantId: string,
  recordId: string,
  { mergedInto, watermark }: AttributionRoutesDeps,
  signal: AbortSignal,
): Promise<Problem> {
  if (found.code !== 'NOT_FOUND') return found
  const other = await mergedInto(tenantId, recordId, await watermark.latest(), signal)
  if (other === undefined) return found
  const name = formatId('attr', Buffer.from(other, 'hex'))
  return problem('NOT_FOUND', `Another source showed the same call; it is counted in ${name}.`)
}

/** Whether the directory did not contain the stated service when the record was attributed. */
const isUndeclared = ({ evidence_basis }: StoredAttributionDetail): boolean =>
  evidence_basis === ('service_declared' satisfies EvidenceBasis)
