/** Calls of a tenant of a running service, and their records. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Ask } from './ask.js'
import { wireEvent } from './invocations.js'

// biome-ignore lint/suspicious/noExplicitAny: the contract is what is being checked
export type ShownRecord = any

/** Sends calls and waits for their records, as a list shows them, in the same order. */
export const listedAll = async (ask: Ask, calls: readonly Record<string, unknown>[]): Promise<ShownRecord[]> =>
  listed(ask, await send(ask, calls))

/** Waits for records, by their ids or those of their calls. */
export async function listed(ask: Ask, someIds: readonly string[]): Promise<ShownRecord[]> {
  const ids = someIds.map((id) => id.replace('inv_', 'attr_'))
  const found = new Map<string, ShownRecord>()
  for (let from = 0; from < ids.length; from += IDS_MAX) {
    const some = ids.slice(from, from + IDS_MAX)
    while (!some.every((id) => found.has(id))) {
      await sleep(LOOK_EVERY_MS)
      const { status, json } = await ask('GET', `/v1/attribution?limit=${IDS_MAX}&filter[id][in]=${some.join(',')}`)
      // Too many at once get a 429.
      const records: readonly ShownRecord[] = status === 200 ? json.data : []
      for (const record of records) found.set(record.id, record)
    }
  }
  return ids.map((id) => found.get(id))
}

/** The same, each with its explanation, which takes a request of its own. */
export async function attributedAll(ask: Ask, calls: readonly Record<string, unknown>[]): Promise<ShownRecord[]> {
  const ids = (await listedAll(ask, calls)).map(({ invocation_id }) => invocation_id)
  const records: ShownRecord[] = []
  for (let from = 0; from < ids.length; from += READ_AT_ONCE) {
    const some = ids.slice(from, from + READ_AT_ONCE)
    records.push(...(await Promise.all(some.map((id) => recordOf(ask, id)))))
  }
  return records
}

/**
 * About as long as it takes until a record is readable: a look that comes too early costs as much as one that finds it.
 */
const LOOK_EVERY_MS = 75
/** Maximum number of ids in a filter. */
const IDS_MAX = 100
const READ_AT_ONCE = 8
const REPEATS_MAX = 10

/** Sends many calls and waits for the records of the last ones: each partition processes its calls in order. */
export async function attributeMany(ask: Ask, calls: readonly Record<string, unknown>[]): Promise<void> {
  const ids = await send(ask, calls)
  await listed(ask, ids.slice(-20))
}

/** Sends calls as a client should: a 503 says that nothing was decided, and to repeat the request unchanged. */
async function send(ask: Ask, calls: readonly Record<string, unknown>[]): Promise<string[]> {
  const events = calls.map((stated) => wireEvent({ event_id: randomUUID(), ...stated }))
  const headers = { 'idempotency-key': randomUUID() }
  let taken = await ask('POST', '/api/v1/invocations', events, headers)
  for (let repeats = 0; taken.status === 503 && repeats < REPEATS_MAX; repeats++) {
    await sleep(1_000 * Number(taken.headers.get('retry-after') ?? 1))
    taken = await ask('POST', '/api/v1/invocations', events, headers)
  }
  if (taken.status !== 202) throw new Error(`not accepted: ${JSON.stringify(taken.json)}`)
  return taken.json.results.map(({ invocation_id }: { invocation_id: string }) => invocation_id)
}

export const attributed = async (ask: Ask, stated: Record<string, unknown>): Promise<ShownRecord> =>
  (await attributedAll(ask, [stated]))[0]

/** Sends the same call until its record satisfies the condition: changed facts reach the attributors within moments. */
export async function untilAttributed(
  ask: Ask,
  stated: Record<string, unknown>,
  isWanted: (record: ShownRecord) => boolean,
): Promise<ShownRecord> {
  for (;;) {
    const record = await attributed(ask, stated)
    if (isWanted(record)) return record
  }
}

async function recordOf(ask: Ask, invocationId: string): Promise<ShownRecord> {
  for (;;) {
    const { status, json } = await ask('GET', `/v1/attribution/${invocationId.replace('inv_', 'attr_')}`)
    if (status === 200) return json
    await sleep(50)
  }
}
