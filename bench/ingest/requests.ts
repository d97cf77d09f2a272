import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { demoEvent } from '../../internal/replay/demo-company.js'
import { readTrace } from '../../internal/replay/trace.js'

/**
 * The requests that every server of this bench gets: events as the demo company sends them, from rows of the recorded
 * trace, about 380 bytes each. What differs from request to request (event id, trace id, Idempotency-Key) is filled
 * in by the load generator; lengths are equal, so that a request is put together without counting.
 *
 * File form, one for both generators: first line the head's lines parted by tabs, then one body a line, its parts
 * parted by tabs: before the event id, between it and the trace id, after that.
 */
export const REQUESTS = 512

/** From dist/bench/ingest to the checkout. */
const TRACE_FILE = fileURLToPath(new URL('../../../bench/data/azure-llm-2023.csv', import.meta.url))

export const PATH = '/api/v1/invocations'

/** @returns the mean length of a body in bytes */
export function writeRequests(file: string, apiKey: string, nowMs: number): number {
  const rows = readTrace(TRACE_FILE)
  const step = Math.floor(rows.length / REQUESTS)
  const bodies = Array.from({ length: REQUESTS }, (_, i) => {
    const row = rows[i * step]
    if (row === undefined) throw new Error('the trace has too few rows')
    const event = {
      event_id: '\t',
      trace_id: '\t',
      ingestion_timestamp: new Date(nowMs - (REQUESTS - i) * 10).toISOString(),
      ...demoEvent(row),
      region: 'eu-west-1',
    }
    return JSON.stringify(event).replaceAll('\\t', '\t')
  })
  const head = [`POST ${PATH} HTTP/1.1`, 'Host: 127.0.0.1', `X-API-Key: ${apiKey}`, 'Content-Type: application/json']
  writeFileSync(file, `${[head.join('\t'), ...bodies].join('\n')}\n`, { mode: 0o600 })
  const bytes = bodies.reduce((sum, body) => sum + body.length - 2 + UUID_LENGTH + TRACE_ID_LENGTH, 0)
  return Math.round(bytes / REQUESTS)
}

export const UUID_LENGTH = 36
export const TRACE_ID_LENGTH = 32
