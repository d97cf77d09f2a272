import type { ClickHouseClient } from '@clickhouse/client'
import type { Watermark } from '../../../broker/watermark.js'
import { LimiterPerKey } from '../../../process/limiter.js'
import { connectStore, type StoreConnection } from '../../client.js'
import { followCopiedInstants } from '../../copied-instants.js'
import type { StoredAttribution } from './attributions.js'
import { listRecords, type RecordsQuestion } from './list-records.js'
import { keepRecordSamples, sampleRecords } from './record-sample.js'

export interface Records {
  /** @returns undefined when too many queries of the tenant are waiting, or this one waited too long */
  readonly list: (
    question: RecordsQuestion,
    signal: AbortSignal,
  ) => Promise<{ readonly value: StoredAttribution[] } | undefined>
  /** The same for another query of the tenant. */
  readonly ask: <T>(
    tenantId: string,
    signal: AbortSignal,
    query: (store: ClickHouseClient) => Promise<T>,
  ) => Promise<{ readonly value: T } | undefined>
  close(): Promise<void>
}

/** Queries per tenant that run at a time. */
const RUNNING_MAX = 4
/** Queries per tenant that wait, and for how long, before they are refused. */
const WAIT = { waitingMax: 32, waitMsMax: 3_000 } as const
/** Of all tenants together. */
const CONNECTIONS_MAX = 16

/** Reads records over separate connections, so that readers never occupy those that look up events. */
export function openRecords(connection: StoreConnection, watermark: Watermark): Records {
  const store = connectStore({ ...connection, connectionsMax: CONNECTIONS_MAX })
  const copied = followCopiedInstants(store, watermark)
  const samples = keepRecordSamples((tenantId, signal) => sampleRecords(store, tenantId, signal))
  const queries = new LimiterPerKey(RUNNING_MAX)
  return {
    list: (question, signal) =>
      queries.tryRun(
        question.tenantId,
        async () =>
          listRecords(store, question, await copied(question.snapshotMs), samples.of(question.tenantId), signal),
        { ...WAIT, signal },
      ),
    ask: (tenantId, signal, query) => queries.tryRun(tenantId, () => query(store), { ...WAIT, signal }),
    async close() {
      samples.close()
      await store.close()
    },
  }
}
