/** The real trace as events of two models with a known bill, and the records that a service shows for them. */

import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import {
  connectService,
  type RecordPage,
  type ReplayedRecord,
  type ServiceClient,
} from '../../internal/local/replay/client.js'
import { readTrace, type TraceRow } from '../../internal/local/replay/trace.js'
import type { Instance } from './service.js'

export const TRACE = readTrace(fileURLToPath(new URL('../../bench/data/azure-llm-2023.csv', import.meta.url)))

/** Services and identities by a fixed rule from the row, so that stages A, B and C all have work. */
export function twoModelEvent(row: TraceRow): Record<string, unknown> {
  const number = Number(row.rowId.slice(5))
  const labels = [
    { attributed_service: `service-${number % 7}`, attributed_identity: `person-${number % 50}` },
    { attributed_service: `service-${number % 7}` },
    { trace_id: `trace-${Math.floor(number / 10)}`, attributed_service: `service-${number % 7}` },
    {},
  ]
  return {
    ingestion_layer: 'gateway',
    provider: 'openai',
    requested_model: row.kind === 'code' ? 'gpt-4o-2024-08-06' : 'gpt-4o-mini',
    input_tokens: row.inputTokens,
    output_tokens: row.outputTokens,
    ...labels[number % labels.length],
  }
}

/** USD per million tokens, in cents so that they are whole numbers. */
const CENTS_PER_MILLION = { code: { input: 250n, output: 1000n }, conv: { input: 15n, output: 60n } }

/** An exact sum that shares no code with the product: whole numbers of 1e-8 USD. */
export function billOf(rows: readonly TraceRow[]): bigint {
  let total = 0n
  for (const { kind, inputTokens, outputTokens } of rows) {
    const rate = kind === 'code' ? CENTS_PER_MILLION.code : CENTS_PER_MILLION.conv
    total += BigInt(inputTokens) * rate.input + BigInt(outputTokens) * rate.output
  }
  return total
}

/** A decimal text in whole numbers of 1e-8. */
export function hundredMillionths(text: string): bigint {
  const match = /^(\d+)(?:\.(\d{1,8}))?$/.exec(text)
  if (match === null) throw new Error(`not a decimal of at most 8 places: ${text}`)
  return BigInt(match[1] + (match[2] ?? '').padEnd(8, '0'))
}

const SENT_AT_ONCE = 1_000
/** Of the last events: each partition attributes its events in order, and so many are in all partitions. */
const LAST = 20

/** Sends events in bulk to an instance that has none, and waits for their records. @returns all of them */
export async function sendAll(
  { baseUrl, credentials }: Pick<Instance, 'baseUrl' | 'credentials'>,
  events: readonly Record<string, unknown>[],
): Promise<ReplayedRecord[]> {
  const client = connectService(baseUrl, credentials.api_key, 4)
  try {
    let ids: readonly string[] = []
    for (let at = 0; at < events.length; at += SENT_AT_ONCE) {
      const body = JSON.stringify(events.slice(at, at + SENT_AT_ONCE))
      const { status, body: answer } = await client.post('/api/v1/invocations', 'application/json', body)
      if (status !== 202 || !answer.includes('"rejected":0')) throw new Error(`not accepted (${status}): ${answer}`)
      const { results } = JSON.parse(answer) as { readonly results: readonly { readonly invocation_id: string }[] }
      ids = results.map(({ invocation_id }) => invocation_id.replace('inv_', 'attr_'))
    }
    // To read all records again and again costs more than to attribute them.
    for (const id of ids.slice(-LAST)) while ((await client.find(id)) === undefined) await sleep(100)
    for (;;) {
      const records = await allRecords(client)
      if (records.length >= events.length) return records
      await sleep(500)
    }
  } finally {
    await client.close()
  }
}

/** Every record of the tenant, by following `next_cursor`. */
export async function allRecords(service: ServiceClient): Promise<ReplayedRecord[]> {
  const records: ReplayedRecord[] = []
  let cursor: string | undefined
  do {
    const { data, page }: RecordPage = await service.page(200, cursor)
    records.push(...data)
    cursor = page.next_cursor
  } while (cursor !== undefined)
  return records
}
