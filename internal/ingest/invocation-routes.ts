import type { Caller } from '../auth/authenticate.js'
import type { Exchange } from '../http/exchange.js'
import { takeFrom } from '../http/rate-limit.js'
import type { Route } from '../http/route.js'
import { BULK_BYTES_MAX } from '../invocations/limits.js'
import { type Problem, problem } from '../problems/problem-catalogue.js'
import { type AdmitSeveral, admitSingle, keyOf } from './admission/admission.js'
import { KEY_REQUIRED, OTHER_CHARSET } from './admission/answers.js'
import { holdsSeveral } from './bulk/body-elements.js'
import { admitBulk, type BulkDeps, type BulkRequest } from './bulk/bulk.js'
import { holdsLines, isBulk, isReadable, readingOf } from './bulk/bulk-body.js'
import { INGEST_INVOCATIONS } from './invocation-contract.js'
import { shippedRows } from './shippers/shipped-row.js'

/**
 * `POST /api/v1/invocations`: one event under an Idempotency-Key, or many as a JSON array, NDJSON or concatenated JSON,
 * optionally packed, which need none: each event has its id. A 202 means that the log, or the spool while the log is
 * unavailable, holds every event that was accepted.
 */
export const admissionRoutes = (deps: BulkDeps): readonly Route[] => [
  {
    ...INGESTION,
    path: '/api/v1/invocations',
    operation: INGEST_INVOCATIONS,
    handle: (exchange, caller) => readAndAdmit(exchange, caller, deps),
  },
]

/** Declaration shared by all routes that ingest events. */
export const INGESTION = {
  method: 'post',
  access: 'any',
  rateClass: 'ingest',
  chargesItself: true,
  isIngestion: true,
} as const

/** @param route its number in the hash of its keys: keys live per (tenant, route, key) */
export function readAndAdmit(exchange: Exchange, caller: Caller, deps: BulkDeps, route?: number): void {
  const key = keyOf(exchange, caller, deps, route)
  // A refused event costs the caller as much as an accepted one.
  const refuse = (what: Problem): void => {
    deps.received.refused(caller, '', what.code, deps.clock())
    exchange.replyProblem(takeFrom(caller.budgets.ingest, 1, deps.clock()) ?? what)
  }
  const { contentType, contentEncoding, idempotencyKey } = exchange.headers
  if (key === undefined && (idempotencyKey !== '' || contentType === '')) return refuse(KEY_REQUIRED)
  if (contentType !== 'application/json' && !isSupported(contentType)) return refuse(OTHER_MEDIA_TYPE)
  const headers = { contentType, contentEncoding }
  exchange.readBody(BULK_BYTES_MAX, (bytes, areLent) => {
    const isMany = isBulk(headers, bytes)
    if (key === undefined) {
      if (!isMany && !holdsLines(bytes)) return refuse(KEY_REQUIRED)
      return admitMany({ exchange, caller }, bytes, areLent, deps)
    }
    const fingerprint = new Int32Array(2)
    const isAscii = deps.fingerprints.of(bytes, fingerprint)
    fingerprint[0] = (fingerprint[0] ?? 0) ^ readingOf(headers)
    const request = { exchange, caller, key, fingerprint }
    if (isMany) return admitMany(request, bytes, areLent, deps)
    admitSingle(request, bytes, deps, isAscii, false, admitSeveral)
  })
}

const admitSeveral: AdmitSeveral<BulkDeps> = (request, bytes, isPaid, deps) => {
  if (!holdsSeveral(bytes)) return false
  admitMany(request, bytes, true, deps, isPaid)
  return true
}

function admitMany(request: BulkRequest, bytes: Buffer, areLent: boolean, deps: BulkDeps, isPaid?: boolean): void {
  const { exchange } = request
  const sent = { headers: exchange.headers, bytes: areLent ? Buffer.copyBytesFrom(bytes) : bytes, shippedRows }
  admitBulk(request, sent, deps, isPaid).catch((cause: unknown) => exchange.fail(cause))
}

const OTHER_MEDIA_TYPE = problem(
  'UNSUPPORTED_MEDIA_TYPE',
  'Send application/json, one event or an array, or application/x-ndjson, in UTF-8.',
)
const isSupported = (contentType: string): boolean => isReadable(contentType) && !OTHER_CHARSET.test(contentType)
