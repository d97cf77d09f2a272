import { PROBLEMS, type Problem } from '../../problems/problem-catalogue.js'
import type { IntakeAnswer, IntakeRoute, RefusedRequest } from '../intake/intake-route.js'
import { bytesField, rpcCodeOf, rpcMessage, varintField } from '../otlp/otlp-answers.js'

/** Codes of gRPC that are written here; `rpcCodeOf` has those of problems. */
export const RPC = { ok: 0, invalidArgument: 3, notFound: 5, resourceExhausted: 8, unimplemented: 12 } as const

export const TRAILER = { status: 'grpc-status', message: 'grpc-message', details: 'grpc-status-details-bin' } as const

const ONLY_ASCII = /[^ -$&-~]/gu

/** The trailers of a call that was refused: percent-encoded as gRPC has it, with when to try again if that helps. */
export function refusalTrailers(code: number, message: string, retryAfterSeconds?: number): Record<string, string> {
  return {
    [TRAILER.status]: String(code),
    [TRAILER.message]: message.replace(ONLY_ASCII, encodeURIComponent),
    ...(retryAfterSeconds !== undefined && {
      [TRAILER.details]: retryDetails(code, message, retryAfterSeconds).toString('base64'),
    }),
  }
}

const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo'

/**
 * A `google.rpc.Status` with `RetryInfo`. Exporters repeat a call that exhausted a resource only if it says when
 * (opentelemetry-proto, `docs/specification.md`, "OTLP/gRPC Throttling").
 */
function retryDetails(code: number, message: string, seconds: number): Buffer {
  const delay = bytesField(1, varintField(1, seconds))
  const info = Buffer.concat([bytesField(1, RETRY_INFO), bytesField(2, delay)])
  return Buffer.concat([varintField(1, code), bytesField(2, message), bytesField(3, info)])
}

/** The services of OTLP by the paths of their twins over HTTP. */
const SERVICES: Readonly<Record<string, string>> = {
  '/v1/traces': 'opentelemetry.proto.collector.trace.v1.TraceService',
  '/v1/logs': 'opentelemetry.proto.collector.logs.v1.LogsService',
  '/v1/metrics': 'opentelemetry.proto.collector.metrics.v1.MetricsService',
  '/v1development/profiles': 'opentelemetry.proto.collector.profiles.v1development.ProfilesService',
}
export const SERVICE_NAMES: readonly string[] = Object.values(SERVICES)

/** The routes of OTLP/HTTP as methods of gRPC, which refuse in its words. */
export const grpcRoutes = (otlp: readonly IntakeRoute[]): readonly IntakeRoute[] =>
  otlp.flatMap((route) => {
    const service = SERVICES[route.path]
    return service === undefined ? [] : [{ ...route, path: `/${service}/Export`, writeProblem: asTrailers }]
  })

function asTrailers(problem: Problem, request: RefusedRequest): IntakeAnswer {
  const { status } = PROBLEMS[problem.code]
  const code = status === 415 ? RPC.unimplemented : rpcCodeOf(problem)
  return {
    status,
    headers: refusalTrailers(code, rpcMessage(problem, request), problem.retryAfterSeconds),
    body: '',
  }
}
