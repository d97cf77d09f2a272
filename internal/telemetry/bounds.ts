import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from './log.js'
import { gauge } from './metrics.js'

/**
 * What can run full: the log by calls that are not processed yet, the spool of a gateway, the disk of the read model,
 * and the disk of the export files.
 */
export type Bound = 'log' | 'spool' | 'store' | 'exports'
export type BoundLevel = 'normal' | 'warning' | 'critical'

/** Shares in use from which a bound is at a level. Alerts and `attribution doctor` use the same. */
export const WARNING_FROM = 0.75
export const CRITICAL_FROM = 0.9
/** Between two looks at a disk. */
export const DISK_EVERY_MS = 30_000
/** A level ends this far below its beginning, so that a share which moves around it is reported once. */
const HYSTERESIS = 0.05

/** @param before the level until now */
export function boundLevel(share: number, before: BoundLevel): BoundLevel {
  if (share >= CRITICAL_FROM - (before === 'critical' ? HYSTERESIS : 0)) return 'critical'
  return share >= WARNING_FROM - (before === 'normal' ? 0 : HYSTERESIS) ? 'warning' : 'normal'
}

const USED = gauge(
  'bound_used_ratio',
  'Share in use of what can run full; 1: nothing more fits. Of the log only what is not processed counts.',
  ['bound'],
)

const NAMES: Readonly<Record<Bound, string>> = {
  log: 'the log',
  spool: 'the spool',
  store: 'the disk of the read model',
  exports: 'the disk of the export files',
}

export interface WatchedBound {
  readonly bound: Bound
  /** The share in use; undefined when the bound has none, or another process looks after it. */
  readonly used: () => number | undefined | Promise<number | undefined>
  readonly everyMs: number
  /** Called with a line for the operator's terminal, whenever the level changes. */
  readonly notify: (line: string) => void
  readonly log: Logger
}

/**
 * Follows how much of a bound is in use until `signal` aborts: sets its gauge, and writes one line per change of its
 * level. While the share cannot be read, the last one applies.
 */
export async function watchBound(watched: WatchedBound, signal: AbortSignal): Promise<void> {
  const { bound, used, everyMs, log } = watched
  let level: BoundLevel = 'normal'
  while (!signal.aborted) {
    try {
      const share = await used()
      if (share === undefined) USED.remove({ bound })
      else USED.set({ bound }, share)
      const next: BoundLevel = share === undefined ? 'normal' : boundLevel(share, level)
      if (next !== level && share !== undefined) report(watched, share, next, level)
      level = next
    } catch (cause) {
      log.debug({ err: cause, bound }, 'could not read how much of a bound is in use')
    }
    await sleep(everyMs, undefined, { signal }).catch(() => undefined)
  }
}

function report({ bound, log, notify }: WatchedBound, share: number, level: BoundLevel, before: BoundLevel): void {
  const usedPercent = Math.floor(share * 100)
  const fields = { bound, usedPercent }
  if (level === 'critical') log.error(fields, 'a bound is nearly reached')
  else if (before === 'normal') log.warn(fields, 'a bound comes close')
  else log.info(fields, level === 'warning' ? 'a bound is less close again' : 'a bound is no longer close')
  const rises = level === 'critical' || before === 'normal'
  notify(
    rises
      ? `${NAMES[bound]} is ${usedPercent} % full: attribution doctor says what to do`
      : `${NAMES[bound]} is down to ${usedPercent} %`,
  )
}
