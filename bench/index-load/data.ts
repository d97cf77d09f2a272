import type { ClickHouseClient } from '@clickhouse/client'
import { CREATE_ADMISSION_KEYS } from '../../internal/store/tables/admission-keys.js'
import { CREATE_ATTRIBUTIONS } from '../../internal/store/tables/attributions.js'
import { CREATE_CLOSED_HISTORY } from '../../internal/store/tables/closed.js'

const DAY_MS = 86_400_000
const INSERTS = 20

/**
 * Fills the tables that an index is loaded from: keys of the last 24 hours and events of the last 7 days, evenly
 * spread, with a little distance from either end. Without sorted copies, which a load does not read.
 */
export async function fill(store: ClickHouseClient, keys: number, nowMs: number): Promise<void> {
  const run = (query: string): Promise<unknown> =>
    store.command({
      query,
      clickhouse_settings: { wait_end_of_query: 1, max_partitions_per_insert_block: '0' },
    })
  for (const create of [CREATE_ADMISSION_KEYS, CREATE_ATTRIBUTIONS, CREATE_CLOSED_HISTORY]) {
    await run(create)
  }
  const at = (days: number): string => {
    const firstMs = nowMs - days * DAY_MS + 600_000
    const stepMs = (nowMs - 60_000 - firstMs) / keys
    return `fromUnixTimestamp64Milli(toInt64(${firstMs} + number * ${stepMs}))`
  }
  for (let i = 0; i < INSERTS; i++) {
    const from = `FROM numbers(${Math.floor((i * keys) / INSERTS)}, ${Math.floor(keys / INSERTS)})`
    await run(`INSERT INTO admission_keys (key_hash, fingerprint, flags, admitted_at)
      SELECT reinterpretAsFixedString(sipHash128(number)), reinterpretAsFixedString(sipHash64(number)), 0,
        ${at(1)} ${from}`)
    await run(`INSERT INTO attributions (tenant_id, id, event_time, valid_from)
      SELECT concat('tnt_', toString(number % 20)), reinterpretAsFixedString(sipHash128(number, 1)), ${at(7)} AS at,
        at ${from}`)
  }
}
