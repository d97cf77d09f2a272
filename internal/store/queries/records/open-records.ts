import type { ClickHouseClient } from '@clickhouse/client'
import { connectStore, type StoreConnection } from '../../client.js'
import { watchFilledCopies } from '../../migrations/filled-copies.js'
import { keepRecordSamples } from '../../record-samples.js'
import { createTurns } from '../../turns.js'
import type { StoredAttribution } from './attributions.js'
import { listRecords, type RecordsQuestion } from './list-records.js'
import { sampleRecords } from './record-sample.js'

export interface Records {
  /** @returns undefined when the tenant asks too much at a time */
  readonly list: (
    question: RecordsQuestion,
    signal: AbortSignal,
  ) => Promise<{ readonly value: StoredAttribution[] } | undefined>
  /** The same for another question of the tenant. */
  readonly ask: <T>(
    tenantId: string,
    signal: AbortSignal,
    query: (store: ClickHouseClient) => Promise<T>,
  ) => Promise<{ readonly value: T } | undefined>
  close(): Promise<void>
}

/** Queries of one tenant that run at a time, and those that wait for them. */
const TURNS = { runningMax: 4, waitingMax: 32, waitMsMax: 3_000 } as const
/** Of all tenants together. */
const CONNECTIONS_MAX = 16

/** Reads records over connections of its own, so that no reader takes those on which events are looked up. */
export function openRecords(connection: StoreConnection): Records {
  const store = connectStore({ ...connection, connectionsMax: CONNECTIONS_MAX })
  const copies = watchFilledCopies(store)
  const samples = keepRecordSamples((tenantId, signal) => sampleRecords(store, tenantId, signal))
  const turns = createTurns(TURNS)
  return {
    list: (question, signal) =>
      turns.take(question.tenantId, signal, () =>
        listRecords(store, question, copies.isFilled, samples.of(question.tenantId), signal),
      ),
    ask: (tenantId, signal, query) => turns.take(tenantId, signal, () => query(store)),
    async close() {
      samples.close()
      copies.close()
      await store.close()
    },
  }
}
