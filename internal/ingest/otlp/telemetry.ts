import { Facts } from './span-facts.js'

export type Signal = 'traces' | 'logs'

/** A span or log record as far as it is read. One object serves all of a request: it holds until the next is read. */
export class Telemetry {
  /** 32 hexadecimal digits in lower case, or empty: absent, or not of this form. */
  traceId = ''
  /** 16 hexadecimal digits, or empty. */
  spanId = ''
  parentSpanId = ''
  /** When it began; of a log record, when it happened. 0 when absent. */
  startMs = 0
  endMs = 0
  isError = false
  /** Of a log record, if it is a name that is known. */
  eventName = ''
  readonly facts = new Facts()
  readonly resource = new Facts()
  /** Name and version of the instrumentation scope. */
  scope = ''
  scopeVersion = ''

  /** For the next span or log record of the same resource and scope. */
  clear(): void {
    this.traceId = ''
    this.spanId = ''
    this.parentSpanId = ''
    this.startMs = 0
    this.endMs = 0
    this.isError = false
    this.eventName = ''
    this.facts.clear()
  }
}

/** What is left of a request: the records that were copied as a whole, and how many parts are malformed. */
export interface CopiedRequest {
  readonly records: number
  readonly malformed: number
  /** Behind it, nothing could be read; -1 where all could. */
  readonly brokenAt: number
}

export type OnTelemetry = (telemetry: Telemetry) => void

/** Bytes that are read before others get their turn: some six spans, or 16 thousand empty ones. */
export const SLICE_BYTES = 32 * 1024

/** `STATUS_CODE_ERROR` */
export const STATUS_ERROR = 2

/** A record's body and event name can be content: they are compared with these names and not read. */
export const EVENT_NAMES = [
  'claude_code.api_request',
  'claude_code.api_error',
  'gemini_cli.api_response',
  'gemini_cli.api_error',
  'qwen-code.api_response',
  'qwen-code.api_error',
  'codex.sse_event',
  'gen_ai.client.inference.operation.details',
]
export const EVENT_NAME_BYTES_MAX = 48

export const TRACE_ID_BYTES = 16
export const SPAN_ID_BYTES = 8
/** Elements of a list of labels that are read, at most. */
export const LABELS_MAX = 16
