import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import type { Sql } from 'postgres'
import type { HttpServiceClient } from '../../internal/local/replay/client.js'
import { callsSince, copyInto } from './calls-table.js'

/** The same new calls into both: over the API of the product, and by COPY as finished rows into the indexed table. */
export interface Admitted {
  /** Until the last request is answered 202: the calls survive a power cut. */
  readonly accepted_per_s: number
  /** Until the last call of each request is a record. */
  readonly readable_per_s: number
  /** Until the last transaction is committed. */
  readonly copied_per_s: number
}

/** Of a request, and of a transaction. */
const BATCH = 1_000
/** Requests or transactions at a time. */
export const LANES = 4
const LOOK_MS = 20
const SERVICES = 40

export interface Sides {
  readonly client: HttpServiceClient
  readonly store: ClickHouseClient
  readonly sql: Sql
  readonly tenantId: string
}

/** One round. @param calls a multiple of `BATCH` @param ids gets the ids of the calls, in the form of Postgres */
export async function admit({ client, store, sql, tenantId }: Sides, calls: number, ids: string[]): Promise<Admitted> {
  const sinceMs = Date.now()
  const bodies = Array.from({ length: calls / BATCH }, (_, i) =>
    Array.from({ length: BATCH }, (_, j) => JSON.stringify(newCall(i * BATCH + j, sinceMs))).join('\n'),
  )
  const lastOnes: string[] = []
  const startedAt = performance.now()
  await inLanes(bodies, async (body) => {
    const { status, body: answer } = await client.post('/api/v1/invocations', 'application/x-ndjson', body)
    if (status !== 202) throw new Error(`calls were refused (${status}): ${answer.slice(0, 300)}`)
    lastOnes.push(lastIdOf(answer))
  })
  const acceptedS = (performance.now() - startedAt) / 1_000
  for (const id of lastOnes) await untilReadable(client, id)
  const readableS = (performance.now() - startedAt) / 1_000

  const rows = await allRows(store, tenantId, sinceMs, calls)
  const batches = Array.from({ length: calls / BATCH }, (_, i) => rows.slice(i * BATCH, (i + 1) * BATCH))
  const copyingAt = performance.now()
  await inLanes(batches, (batch) => copyInto(sql, Readable.from([`${batch.join('\n')}\n`])))
  const copiedS = (performance.now() - copyingAt) / 1_000
  ids.push(...rows.map((row) => row.slice(0, row.indexOf('\t'))))
  return { accepted_per_s: calls / acceptedS, readable_per_s: calls / readableS, copied_per_s: calls / copiedS }
}

async function inLanes<T>(tasks: readonly T[], run: (task: T) => Promise<void>): Promise<void> {
  const waiting = tasks.values()
  const lane = async (): Promise<void> => {
    for (const task of waiting) await run(task)
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

function lastIdOf(answer: string): string {
  const { results } = JSON.parse(answer) as { readonly results: readonly { readonly invocation_id?: string }[] }
  const id = results.at(-1)?.invocation_id
  if (id === undefined) throw new Error(`a call was refused: ${answer.slice(0, 300)}`)
  return id
}

/** Until a call is a record. */
export async function untilReadable(client: HttpServiceClient, invocationId: string): Promise<void> {
  const id = invocationId.replace(/^inv_/, 'attr_')
  while ((await client.find(id)) === undefined) await sleep(LOOK_MS)
}

/** The records of all calls since an instant, once they are there: those of a request may be in several partitions. */
async function allRows(store: ClickHouseClient, tenantId: string, sinceMs: number, calls: number): Promise<string[]> {
  for (;;) {
    const rows = (await text(await callsSince(store, tenantId, sinceMs))).trimEnd().split('\n')
    if (rows.length >= calls) return rows
    await sleep(LOOK_MS)
  }
}

/** The `n`-th of a round, of the people and services of `reports`. */
export const newCall = (n: number, sinceMs: number) => ({
  event_id: randomUUID(),
  ingestion_timestamp: new Date(sinceMs + Math.floor(n / SERVICES)).toISOString(),
  ingestion_layer: 'gateway',
  provider: 'openai',
  requested_model: n % 3 === 0 ? 'gpt-4o' : 'gpt-4o-mini',
  attributed_service: `service-${String(n % SERVICES).padStart(2, '0')}`,
  attributed_identity: `person-${n % 500}@example.com`,
  input_tokens: 200 + (n % 1_000),
  output_tokens: 50 + (n % 300),
})
