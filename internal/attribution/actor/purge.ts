import { setTimeout as sleep } from 'node:timers/promises'
import type { JetStreamManager } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import {
  INVOCATIONS,
  invocationsSubject,
  PURGE_ABOVE_SHARE,
  REPLAY_WINDOW_MS,
  type StageName,
} from '../../../streams/invocations.js'
import { brokerErrorCode } from '../../broker/errors.js'
import type { Logger } from '../../telemetry/log.js'
import type { Checkpoint } from './checkpoint.js'

export interface PurgeDeps {
  readonly manager: JetStreamManager
  readonly checkpoints: KV
  readonly isOwner: (stage: StageName, partition: number) => boolean
  readonly log: Logger
}

export interface PurgeSettings {
  readonly stages: readonly StageName[]
  readonly partitions: number
  readonly invocationsBytesMax: number
}

const PURGE_EVERY_MS = 15_000

/**
 * Removes from INVOCATIONS what is done: older than the replay window, or anything done while the stream is fuller
 * than it should be. What is not done is never removed, so that a full stream means unprocessed events. Each owner
 * purges its own subjects.
 */
export async function purgeDone(deps: PurgeDeps, settings: PurgeSettings, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(PURGE_EVERY_MS, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    try {
      await purgeOnce(deps, settings, Date.now())
    } catch (cause) {
      deps.log.warn({ err: cause }, 'the log was not purged; the next round will')
    }
  }
}

/** One round. @param nowMs decides what is older than the replay window */
export async function purgeOnce(deps: PurgeDeps, settings: PurgeSettings, nowMs: number): Promise<void> {
  const { state } = await deps.manager.streams.info(INVOCATIONS.name)
  const isCrowded = state.bytes > settings.invocationsBytesMax * PURGE_ABOVE_SHARE
  const youngest = isCrowded
    ? Number.MAX_SAFE_INTEGER
    : await firstSequenceSince(deps.manager, nowMs - REPLAY_WINDOW_MS)
  for (const stage of settings.stages) {
    for (let partition = 0; partition < settings.partitions; partition++) {
      if (!deps.isOwner(stage, partition)) continue
      const checkpoint = (await deps.checkpoints.get(`${stage}.${partition}`))?.json<Checkpoint>()
      if (checkpoint === undefined) continue
      // Up to but not including this sequence.
      const before = Math.min(checkpoint.done + 1, youngest)
      if (before <= state.first_seq) continue
      await deps.manager.streams.purge(INVOCATIONS.name, { filter: invocationsSubject(stage, partition), seq: before })
    }
  }
}

/** The sequence of the first message at or after an instant; beyond all when there is none. */
async function firstSequenceSince(manager: JetStreamManager, sinceMs: number): Promise<number> {
  try {
    for await (const message of await manager.direct.getBatch(INVOCATIONS.name, {
      start_time: new Date(sinceMs),
      batch: 1,
    })) {
      return message.seq
    }
  } catch (cause) {
    if (brokerErrorCode(cause) !== 404) throw cause
  }
  return Number.MAX_SAFE_INTEGER
}
