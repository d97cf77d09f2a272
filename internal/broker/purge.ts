import { setTimeout as sleep } from 'node:timers/promises'
import type { JetStreamManager, StreamState } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import type { Logger } from '../telemetry/log.js'
import { type Progress, readCheckpoint } from './checkpoint.js'
import { firstSequenceSince } from './log.js'
import type { PlannedLog } from './planned-log.js'

/** A log whose finished messages are purged from its stream. */
export interface PurgedLog extends Pick<PlannedLog<Progress>, 'key' | 'stream' | 'subject'> {
  /** Capacity of the stream, or the part of it that is for new work. */
  readonly bytesMax: number
  /** How long finished messages are kept; undefined when only the stream's own age limit removes them. */
  readonly keepMs: number | undefined
  /** The first finished message that the log's next owner reads again, if any: purged last. */
  neededFrom?(checkpoint: Progress): number | undefined
}

export interface PurgeDeps {
  readonly manager: JetStreamManager
  readonly checkpoints: KV
  readonly isOwner: (key: string) => boolean
  readonly log: Logger
}

const PURGE_EVERY_MS = 15_000
/** While the streams hold nothing that could be purged. */
const PURGE_QUIET_EVERY_MS = 60_000
/** Above this share of `bytesMax`, finished messages are purged before `keepMs` is over. */
const CROWDED_SHARE = 0.8
/** Above this share, also those that the log's next owner would read again. */
const NEARLY_FULL_SHARE = 0.95

/**
 * Purges finished messages from streams: those older than `keepMs`, and nearly all of them while the stream is crowded.
 * Unfinished messages are never purged, so that a full stream means unprocessed messages. Each owner purges its own
 * subjects.
 *
 * @param logs read at each round, so that logs may be added
 */
export async function purgeDone(deps: PurgeDeps, logs: readonly PurgedLog[], signal: AbortSignal): Promise<void> {
  let isQuiet = false
  while (!signal.aborted) {
    await sleep(isQuiet ? PURGE_QUIET_EVERY_MS : PURGE_EVERY_MS, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    try {
      isQuiet = !(await purgeOnce(deps, logs, Date.now()))
    } catch (cause) {
      deps.log.warn({ err: cause }, 'could not purge a log; the next round will retry')
    }
  }
}

/**
 * One round.
 *
 * @param nowMs the time from which ages are counted
 * @returns whether a stream held messages
 */
export async function purgeOnce(deps: PurgeDeps, logs: readonly PurgedLog[], nowMs: number): Promise<boolean> {
  const infos = new Map<string, StreamState>()
  for (const log of logs) {
    const { key, stream, subject, bytesMax, keepMs } = log
    if (!deps.isOwner(key)) continue
    const state = infos.get(stream) ?? (await deps.manager.streams.info(stream)).state
    infos.set(stream, state)
    const isCrowded = state.bytes > bytesMax * CROWDED_SHARE
    if (state.messages === 0 || (!isCrowded && (keepMs === undefined || isYounger(state, nowMs - keepMs)))) continue
    const checkpoint = await readCheckpoint(deps.checkpoints, key)
    if (checkpoint === undefined) continue
    const youngest =
      isCrowded || keepMs === undefined
        ? Number.MAX_SAFE_INTEGER
        : await firstSequenceSince(deps.manager, stream, nowMs - keepMs)
    // Up to but not including this sequence.
    const before = Math.min(checkpoint.done + 1, youngest, neededFrom(log, checkpoint, state.bytes, nowMs))
    if (before <= state.first_seq) continue
    await deps.manager.streams.purge(stream, { filter: subject, seq: before })
  }
  return [...infos.values()].some(({ messages }) => messages > 0)
}

/** The first finished message that is kept for the next owner: none once the log has been idle for `keepMs`. */
function neededFrom(log: PurgedLog, checkpoint: Progress, bytes: number, nowMs: number): number {
  const { bytesMax, keepMs = Number.POSITIVE_INFINITY } = log
  const isOver = bytes > bytesMax * NEARLY_FULL_SHARE || nowMs - (checkpoint.doneMs ?? 0) > keepMs
  return (isOver ? undefined : log.neededFrom?.(checkpoint)) ?? Number.MAX_SAFE_INTEGER
}

/** Whether all messages of a stream are younger than an instant. */
const isYounger = ({ first_ts: firstAt }: StreamState, sinceMs: number): boolean => Date.parse(firstAt) > sinceMs
