import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { CHECKPOINTS } from '../../../streams/buckets.js'
import { FENCE } from '../../../streams/records.js'
import type { Progress } from '../../broker/checkpoint.js'
import type { Broker } from '../../broker/connect.js'
import { askForPause } from '../../broker/pause.js'

/** Readers pause for no longer than this when this process ends meanwhile; gateways go on taking events. */
const PAUSE_MS = 10_000
const ASK_AGAIN_MS = 2_000
const SETTLED_MS_MAX = 15_000
/** A range of millions of records is copied in less, also beside other work. */
const COPIED_MS_MAX = 120_000
const LOOK_EVERY_MS = 20
const ATTEMPTS_MAX = 5

/**
 * Takes something of the log and of the read model as of one moment, at which no batch is open: all readers pause.
 * Whether they all did shows afterwards, since a reader that went on has moved its checkpoint; then it is taken again.
 *
 * @param take must be quick; it is called once per attempt
 * @returns what the successful attempt took, and for how long readers paused
 * @throws Error when a batch stays open: nobody works on it, or it takes longer than a few seconds
 */
export async function atConsistentPoint<T>(
  broker: Broker,
  store: ClickHouseClient,
  take: () => Promise<T>,
): Promise<{ readonly taken: T; readonly atMs: number; readonly pausedMs: number }> {
  // Before readers pause: a copy may take long.
  await untilCopied(store)
  const began = performance.now()
  try {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const before = await untilSettled(broker, store)
      const atMs = Date.now()
      const taken = await take()
      if ((await stateOf(broker, store)).moved === before) return { taken, atMs, pausedMs: performance.now() - began }
    }
  } finally {
    await askForPause(broker.connection, 0)
  }
  throw new Error('the readers of the log did not pause: do all processes have this version?')
}

interface State {
  /** Changes whenever a reader or a change of the read model moves on. */
  readonly moved: string
  /** Work that is under way, by name. */
  readonly open: readonly string[]
}

async function untilCopied(store: ClickHouseClient): Promise<void> {
  const deadline = performance.now() + COPIED_MS_MAX
  while ((await readModelState(store)).isCopying && performance.now() < deadline) await sleep(LOOK_EVERY_MS)
}

async function untilSettled(broker: Broker, store: ClickHouseClient): Promise<string> {
  const deadline = performance.now() + SETTLED_MS_MAX
  for (let askedAt = Number.NEGATIVE_INFINITY; ; ) {
    if (performance.now() - askedAt > ASK_AGAIN_MS) {
      askedAt = performance.now()
      await askForPause(broker.connection, PAUSE_MS)
    }
    const { moved, open } = await stateOf(broker, store)
    if (open.length === 0) return moved
    if (performance.now() > deadline) {
      throw new Error(
        `work is not finished: ${open.join(', ')}. Are the attributors running? "attribution doctor" tells`,
      )
    }
    await sleep(LOOK_EVERY_MS)
  }
}

async function stateOf(broker: Broker, store: ClickHouseClient): Promise<State> {
  const checkpoints = await broker.bucket(CHECKPOINTS)
  const [moved, open]: [string[], string[]] = [[], []]
  for await (const key of await checkpoints.keys()) {
    const entry = key === FENCE ? null : await checkpoints.get(key)
    if (entry?.operation !== 'PUT') continue
    const { plan, reservedMs } = entry.json<Progress>()
    moved.push(`${key} ${entry.revision}`)
    if (plan !== undefined || reservedMs !== undefined) open.push(`the batch of ${key}`)
  }
  const { text, isCopying } = await readModelState(store)
  if (isCopying) open.push('the copy of a range of records')
  return { moved: `${moved.sort().join('\n')}\n${text}`, open }
}

/**
 * @returns a text that changes whenever the read model does other than by inserts, and whether a range is being copied
 */
async function readModelState(
  store: ClickHouseClient,
): Promise<{ readonly text: string; readonly isCopying: boolean }> {
  const answer = await store.query({ query: UNDER_WAY, format: 'JSONEachRow' })
  const [state] = await answer.json<Record<'mutations' | 'planned' | 'settled', string>>()
  return { text: JSON.stringify(state), isCopying: state?.planned !== state?.settled }
}

/** A change of rows that is under way goes on after a restore; none may begin meanwhile. */
const UNDER_WAY = `
SELECT (SELECT count() FROM system.mutations WHERE database = currentDatabase()) AS mutations,
  toString((SELECT maxIf(ends_at, state = 'planned') FROM settling)) AS planned,
  toString((SELECT maxIf(ends_at, state = 'settled') FROM settling)) AS settled`
