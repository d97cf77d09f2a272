/** W3C Trace Context: what a `traceparent` says. */
export interface TraceContext {
  /** 32 hex digits. */
  readonly traceId: string
  /** 16 hex digits. */
  readonly spanId: string
}

export interface ParentContext extends TraceContext {
  readonly isSampled: boolean
}

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/
const ZEROS = /^0+$/

/** @returns undefined for a text that is no valid `traceparent` */
export function parseTraceparent(text: string): ParentContext | undefined {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  if (ZEROS.test(traceId) || ZEROS.test(spanId)) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** Of a span that is sampled. */
export const traceparentOf = ({ traceId, spanId }: TraceContext): string => `00-${traceId}-${spanId}-01`

/** The context of a span that others have recorded. @returns undefined unless both ids have the form of W3C's */
export function contextOf(traceId: string | undefined, spanId: string | undefined): TraceContext | undefined {
  if (traceId === undefined || spanId === undefined) return undefined
  return parseTraceparent(`00-${traceId}-${spanId}-01`)
}

/** Hex digits of the trace id that decide, from its random end: 52 bits, which a number holds exactly. */
const DECIDING_DIGITS = 13
const DECIDING_RANGE = 2 ** (4 * DECIDING_DIGITS)

/**
 * Whether a share of all traces holds this one. OpenTelemetry's rule for consistent sampling, so that every service
 * with the same share, or a greater one, keeps the same traces.
 *
 * @param ratio from 0 to 1
 */
export const isWithinRatio = (traceId: string, ratio: number): boolean =>
  Number.parseInt(traceId.slice(-DECIDING_DIGITS), 16) >= (1 - ratio) * DECIDING_RANGE
