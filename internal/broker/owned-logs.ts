import type { KV } from '@nats-io/kv'
import { stageOf } from '../../streams/records.js'
import type { Logger } from '../telemetry/log.js'
import { whenRead } from '../telemetry/metrics.js'
import { nextArrival } from './arrivals.js'
import { type Progress, readCheckpoint } from './checkpoint.js'
import type { Broker } from './connect.js'
import { readFence } from './fence.js'
import { readLog } from './log.js'
import type { ReadLogOf } from './log-lag.js'
import { setLogLags } from './log-metrics.js'
import type { Membership } from './members.js'
import { followPauses } from './pause.js'
import { type PlannedLog, type PlannedLogDeps, runPlannedLog } from './planned-log.js'
import { type PurgedLog, purgeDone } from './purge.js'

export interface OwnedLogsDeps {
  readonly broker: Broker
  readonly checkpoints: KV
  /** Shares the logs between the processes of the role. */
  readonly membership: Pick<Membership, 'owns'>
  readonly clock: () => number
  readonly log: Logger
}

/** A planned log, and how long its stream keeps what is done. */
export type OwnedLog<C extends Progress> = PlannedLog<C> & PurgedLog

/** The planned logs of a process: each runs while this process owns it, and what is done is purged. */
export interface OwnedLogs {
  readonly deps: PlannedLogDeps
  /** @param clock dates the batches; that of the process unless it is given */
  run<C extends Progress>(log: OwnedLog<C>, clock?: () => number): void
  /** Runs a log of a stream that keeps what is done. */
  read<C extends Progress>(log: PlannedLog<C>): void
  /** Resolves when the signal has aborted and no batch is in flight. */
  stopped(): Promise<unknown>
}

/** @param signal stops all of them */
export function openOwnedLogs(
  { broker, checkpoints, membership, clock, log }: OwnedLogsDeps,
  signal: AbortSignal,
): OwnedLogs {
  const { connection, manager } = broker
  const deps: PlannedLogDeps = {
    checkpoints,
    readLog: (range) => readLog(manager, range),
    nextArrival: (...awaited) => nextArrival(connection, ...awaited),
    isOwner: (key) => membership.owns(key, stageOf(key)),
    readFence: () => readFence(manager),
    isPaused: followPauses(connection),
    clock,
    log,
  }
  const running: Promise<void>[] = []
  const purged: PurgedLog[] = []
  const purging = purgeDone({ ...deps, manager }, purged, signal)
  const all: ReadLogOf[] = []
  const doneOf = async (key: string): Promise<number> => (await readCheckpoint(checkpoints, key))?.done ?? 0
  const stopReading = whenRead(() => {
    const owned = all.filter(({ key }) => deps.isOwner(key))
    return setLogLags(owned, doneOf, manager, clock())
  })
  signal.addEventListener('abort', stopReading, { once: true })
  return {
    deps,
    run(owned, ownClock = clock) {
      running.push(runPlannedLog(owned, { ...deps, clock: ownClock }, signal))
      purged.push(owned)
      all.push(owned)
    },
    read(log) {
      running.push(runPlannedLog(log, deps, signal))
      all.push(log)
    },
    stopped: () => Promise.all([...running, purging]),
  }
}

/**
 * Names a stream by its creation, in seconds since the epoch. Sequences name a batch only within one stream: a broker
 * that lost its data begins again at 1.
 */
export const logIdOf = async ({ manager }: Pick<Broker, 'manager'>, stream: string): Promise<number> =>
  Math.floor(Date.parse((await manager.streams.info(stream)).created) / 1000)
