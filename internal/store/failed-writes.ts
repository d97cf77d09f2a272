import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import { storedRows } from './stored-rows.js'

/**
 * The embedded engine ignores that a write to its disk has failed: it acknowledges an insert whose files are empty or
 * cut off. (Its `WriteBufferFromFileDescriptor` counts the failure and goes on, where ClickHouse's throws.) So an
 * insert counts only if no write has failed by its acknowledgement; else the batch is repeated. The process of an
 * engine that has failed to write ends within five seconds (`cmd/store`), and the next one sets incomplete parts aside
 * and forgets their tokens (`engine/lost-parts.ts`), so that the repeat is stored.
 */

/** Declared in the configuration of the embedded engine, so that a server of one's own is never asked. */
export const EMBEDDED_MACRO = 'embedded_engine'
export const FAILED_WRITES = "SELECT value FROM system.events WHERE event = 'WriteBufferFromFileDescriptorWriteFailed'"

/** The disk of the store failed to take a write; whatever was inserted meanwhile may be lost. */
export class FailedWriteError extends Error {}

const CHECKS = new WeakMap<ClickHouseClient, () => Promise<void>>()

/**
 * To be called after the acknowledgement of an insert. Calls that come in while one check of the engine is running
 * share the next one.
 *
 * @throws FailedWriteError when a write of this engine has failed
 */
export function expectNoFailedWrite(store: ClickHouseClient): Promise<void> {
  const check = CHECKS.get(store) ?? shared(checkOf(store))
  CHECKS.set(store, check)
  return check()
}

function checkOf(store: ClickHouseClient): () => Promise<void> {
  let isEmbedded: boolean | undefined
  return async () => {
    isEmbedded ??= await isEmbeddedEngine(store)
    if (!isEmbedded) return
    const [failed] = await storedRows<{ value: string }>(store, FAILED_WRITES, {})
    if (failed !== undefined)
      throw new FailedWriteError(`${failed.value} writes of the store have failed: its disk is full or broken`)
  }
}

/** Roles of a server of one's own may lack the right to read its macros. */
async function isEmbeddedEngine(store: ClickHouseClient): Promise<boolean> {
  try {
    const query = 'SELECT 1 FROM system.macros WHERE macro = {macro:String}'
    return (await storedRows(store, query, { macro: EMBEDDED_MACRO })).length > 0
  } catch (cause) {
    if (cause instanceof ClickHouseError) return false
    throw cause
  }
}

/** Each call gets the result of a run that begins after it; runs never overlap. */
function shared(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined
  const start = (): Promise<void> => {
    running = run().finally(() => {
      running = undefined
    })
    return running
  }
  return () => {
    if (running === undefined) return start()
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined
        return start()
      })
    return next
  }
}
