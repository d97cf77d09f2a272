import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { TAGS_MAX } from '../../internal/invocations/invocation-schema.js'
import { demoEvent } from '../../internal/local/replay/demo-company.js'
import { readTrace } from '../../internal/local/replay/trace.js'

/**
 * The requests that every server of this bench gets: events as the demo company sends them, from rows of the recorded
 * trace, about 380 bytes each. What differs from request to request (event id, trace id, Idempotency-Key) is filled
 * in by the load generator; lengths are equal, so that a request is put together without counting.
 *
 * File form, one for both generators: first line: the head's lines, separated by tabs; then one body per line, its
 * parts separated by tabs: before the event id, between it and the trace id, after that.
 */
const REQUESTS = 512

/** From dist/bench/ingest to the checkout. */
const TRACE_FILE = fileURLToPath(new URL('../../../bench/data/azure-llm-2023.csv', import.meta.url))

export const PATH = '/api/v1/invocations'

/** @param credential a header line
 *  @param bytes of a body at least: tags up to the schema's limits, then white space; 0: as the company sends it
 *  @returns the mean length of a body in bytes */
export function writeRequests(file: string, credential: string, nowMs: number, bytes = 0): number {
  const bodies = events(nowMs, REQUESTS).map((event) => padded(event, bytes).replaceAll('\\t', '\t'))
  const head = [`POST ${PATH} HTTP/1.1`, 'Host: 127.0.0.1', credential, 'Content-Type: application/json']
  writeFileSync(file, `${[head.join('\t'), ...bodies].join('\n')}\n`, { mode: 0o600 })
  const total = bodies.reduce((sum, body) => sum + body.length - 2 + UUID_LENGTH + TRACE_ID_LENGTH, 0)
  return Math.round(total / REQUESTS)
}

/** Events a request of the file of `writeBulk`. */
export const BULK_EVENTS = 1_000

/**
 * The bulk request: first line: the head's lines, separated by tabs; then one event per line. A tab stands for the
 * first half of the event id, which the load generator makes anew for each request; the second half is the event's own.
 *
 * @returns the length of a body in bytes
 */
export function writeBulk(file: string, credential: string, nowMs: number): number {
  const lines = events(nowMs, BULK_EVENTS).map((event, i) => {
    const traceId = (i >> 2).toString(16).padStart(TRACE_ID_LENGTH, 'b')
    const own = { event_id: `\t-a000-${i.toString(16).padStart(12, '0')}`, trace_id: traceId }
    return JSON.stringify({ ...event, ...own }).replaceAll('\\t', '\t')
  })
  const head = [`POST ${PATH} HTTP/1.1`, 'Host: 127.0.0.1', credential, 'Content-Type: application/x-ndjson']
  writeFileSync(file, `${[head.join('\t'), ...lines].join('\n')}\n`, { mode: 0o600 })
  return lines.reduce((sum, line) => sum + line.length + BULK_ID_LENGTH, 0)
}
/** A line loses its tab and gets its end. */
const BULK_ID_LENGTH = 18

export function events(nowMs: number, count: number): Record<string, unknown>[] {
  const rows = readTrace(TRACE_FILE)
  const step = Math.floor(rows.length / count)
  return Array.from({ length: count }, (_, i) => {
    const row = rows[i * step]
    if (row === undefined) throw new Error('the trace has too few rows')
    return {
      event_id: '\t',
      trace_id: '\t',
      ingestion_timestamp: new Date(nowMs - (count - i) * 10).toISOString(),
      ...demoEvent(row),
      region: 'eu-west-1',
    }
  })
}

function padded(event: Record<string, unknown>, bytes: number): string {
  let text = JSON.stringify(event)
  const tags: Record<string, string> = {}
  while (text.length + UUID_LENGTH + TRACE_ID_LENGTH < bytes && Object.keys(tags).length < TAGS_MAX) {
    const missing = bytes - text.length - UUID_LENGTH - TRACE_ID_LENGTH
    const name = `tag-${Object.keys(tags).length}-`.padEnd(64, 'n')
    tags[name] = 'v'.repeat(Math.min(256, Math.max(1, missing - 80)))
    text = JSON.stringify({ ...event, tags })
  }
  const blanks = Math.max(0, bytes - text.length - UUID_LENGTH - TRACE_ID_LENGTH)
  return `{${' '.repeat(blanks)}${text.slice(1)}`
}

export const UUID_LENGTH = 36
export const TRACE_ID_LENGTH = 32
