import { PROBLEMS, type Problem } from '../../problems/problem-catalogue.js'
import { renderProblem } from '../../problems/render.js'
import type { IntakeAnswer, RefusedRequest } from '../intake/intake-route.js'
import { sentAgain } from '../intake/problem-json.js'
import type { Encoding } from './read-request.js'

/** What a signal's answer counts. */
export type Rejectable = 'rejectedSpans' | 'rejectedLogRecords' | 'rejectedDataPoints' | 'rejectedProfiles'

const MEDIA_TYPES = { protobuf: 'application/x-protobuf', json: 'application/json' } as const

/** @returns undefined for another media type than OTLP's two */
export function encodingOf(contentType: string): Encoding | undefined {
  const mediaType = contentType.split(';', 1)[0]?.trim().toLowerCase()
  if (mediaType === MEDIA_TYPES.protobuf || mediaType === 'application/protobuf') return 'protobuf'
  return mediaType === MEDIA_TYPES.json ? 'json' : undefined
}

/**
 * An `Export…ServiceResponse`: empty for a full success. A message with nothing rejected is a warning; what was
 * rejected, the sender must not repeat.
 */
export function exported(encoding: Encoding, counted: Rejectable, rejected = 0, message = ''): IntakeAnswer {
  const isFull = rejected === 0 && message === ''
  const json = (): string =>
    JSON.stringify(isFull ? {} : { partialSuccess: { [counted]: String(rejected), errorMessage: message } })
  const protobuf = (): Buffer =>
    isFull ? Buffer.alloc(0) : bytesField(1, Buffer.concat([varintField(1, rejected), bytesField(2, message)]))
  return {
    status: 200,
    headers: { 'Content-Type': MEDIA_TYPES[encoding], 'Cache-Control': 'no-store' },
    body: encoding === 'json' ? json() : protobuf(),
  }
}

/** Codes of `google.rpc.Status`, by HTTP status; INVALID_ARGUMENT for the others. */
const RPC_CODES = new Map<number, number>([
  [401, 16],
  [403, 7],
  [404, 5],
  [405, 12],
  [413, 8],
  [429, 8],
  [500, 13],
  [503, 14],
])
const INVALID_ARGUMENT = 3

export const rpcCodeOf = (problem: Problem): number => RPC_CODES.get(PROBLEMS[problem.code].status) ?? INVALID_ARGUMENT

/** What was wrong, in a sentence. */
export const rpcMessage = (problem: Problem, request: RefusedRequest): string =>
  rendered(problem, request, 'protobuf').body

const rendered = (problem: Problem, request: RefusedRequest, encoding: Encoding) =>
  renderProblem(problem, request, {
    contentType: MEDIA_TYPES[encoding],
    write: ({ detail, title, trace_id: traceId }) => `${detail === '' ? title : detail} (trace ${traceId})`,
  })

/** A refusal as OTLP writes it: a `google.rpc.Status` in the form of the request, JSON where that is unknown. */
export function asRpcStatus(what: Problem, request: RefusedRequest): IntakeAnswer {
  const problem = sentAgain(what)
  const encoding = encodingOf(request.contentType) ?? 'json'
  const code = rpcCodeOf(problem)
  const { status, headers, body } = rendered(problem, request, encoding)
  return {
    status: Number.parseInt(status, 10),
    headers: Object.fromEntries(headers),
    body:
      encoding === 'json'
        ? JSON.stringify({ code, message: body })
        : Buffer.concat([varintField(1, code), bytesField(2, body)]),
  }
}

/** A field of wire type 0; the default, 0, is not written. */
export function varintField(field: number, value: number): Buffer {
  return value === 0 ? Buffer.alloc(0) : Buffer.from([field << 3, ...varint(value)])
}

/** A field of wire type 2. */
export function bytesField(field: number, value: string | Buffer): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value
  return Buffer.concat([Buffer.from([(field << 3) | 2, ...varint(bytes.length)]), bytes])
}

function varint(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80)
  return [...bytes, rest]
}
