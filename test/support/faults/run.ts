/** A whole run of faults: deployment, load, readers, faults by the schedule, and the check. */
import { setTimeout as sleep } from 'node:timers/promises'
import { deploy } from './deployment.js'
import { type LoadResult, underLoad } from './load.js'
import { openWebhooks } from './readers.js'
import { describeFault, type ScheduledFault, type ScheduleOptions, scheduleOf } from './schedule.js'

export interface RunOptions {
  readonly seed: string
  readonly durationMs: number
  readonly eventsPerSecond: number
  readonly gapMs: ScheduleOptions['gapMs']
  readonly lengthMs: ScheduleOptions['lengthMs']
  /** A folder for everything that a run with violations leaves. */
  readonly keepIn: string | undefined
  readonly print: (line: string) => void
}

export interface RunResult extends LoadResult {
  readonly faults: number
}

const PARTITIONS = 4
/** For `up`: no limit is below the load. */
export const RATES = ['ingest', 'read', 'report', 'control'].flatMap((name) => [`--rate-${name}`, '100000'])

export async function runFaults(options: RunOptions): Promise<RunResult> {
  const { seed, durationMs, eventsPerSecond, print } = options
  const schedule = scheduleOf(seed, {
    ...options,
    partitions: PARTITIONS,
  })
  const webhooks = await openWebhooks()
  const deployment = await deploy({
    args: [...webhooks.args, ...RATES],
    partitions: PARTITIONS,
  })
  const { poisons, inflict } = deployment
  const load = { ...deployment, seed, webhooks, eventsPerSecond, poisons, print }
  const result = await underLoad(load, async () => {
    await Promise.all([sleep(durationMs), inflictAll(schedule, inflict, print)])
  })
  if (result.violations.length > 0) {
    print(['Schedule', ...schedule.map(describeFault)].join('\n'))
    if (options.keepIn !== undefined) deployment.keep(options.keepIn)
  }
  return { ...result, faults: schedule.length }
}

/** Each at its time, whatever became of those before. Resolves once all are over. */
async function inflictAll(
  schedule: readonly ScheduledFault[],
  inflict: (fault: ScheduledFault) => Promise<string>,
  print: (line: string) => void,
): Promise<void> {
  const startedAt = performance.now()
  const underWay: Promise<void>[] = []
  for (const fault of schedule) {
    await sleep(Math.max(0, startedAt + fault.atMs - performance.now()))
    const inflicted = inflict(fault).then((told) => print(`${describeFault(fault)}${told === '' ? '' : ` (${told})`}`))
    underWay.push(inflicted)
  }
  await Promise.all(underWay)
}
