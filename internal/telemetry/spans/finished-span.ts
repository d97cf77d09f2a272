import type { TraceContext } from './trace-context.js'

/** The name of the instrumentation scope: the intake knows spans of this product by it. */
export const OWN_SCOPE = 'attribution-service'

export type SpanKind = 'server' | 'client' | 'consumer'

/** A span that has ended. Only sampled ones are ever made. */
export interface FinishedSpan {
  readonly name: string
  readonly kind: SpanKind
  readonly context: TraceContext
  readonly parentSpanId?: string | undefined
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  readonly links?: Links
  readonly isError: boolean
}

export interface Links {
  readonly to: readonly TraceContext[]
  /** Beyond the bound. */
  readonly dropped: number
}

export interface SpansOrigin {
  readonly role: string
  readonly member: string
  readonly version: string
}
