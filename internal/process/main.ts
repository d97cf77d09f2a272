import { fstatSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigError, HelpAsked } from '../config/settings.js'
import type { Logger } from '../telemetry/log.js'

/** Tells of the end of stdin where that is a pipe, which comes also when a supervisor was killed. */
function onSupervisorGone(told: () => void): void {
  const stdin = fstatSync(0)
  if (stdin.isFIFO() || stdin.isSocket()) process.stdin.resume().once('close', told)
}

/** Whether `stopSignal` has been asked for: there is something to drain. */
let isServing = false

/**
 * Runs a role's main. What the operator can mend ends the process with one line on stderr and exit code 1; a defect
 * ends it with its stack, so that the supervisor starts it again.
 */
export function runMain(role: string, main: () => Promise<void>): void {
  onSupervisorGone(() => {
    // Whoever waits for what went with the supervisor would wait for ever.
    if (!isServing) process.exit(0)
  })
  main().then(
    // uWebSockets.js and kept connections would hold the event loop open; everything has been settled by now.
    () => process.exit(0),
    (cause: unknown) => {
      if (cause instanceof HelpAsked) {
        process.stdout.write(`${cause.message}\n`)
        process.exit(0)
      }
      const text =
        cause instanceof ConfigError || !(cause instanceof Error)
          ? String((cause as Error).message ?? cause)
          : cause.stack
      process.stderr.write(`${role}: ${text}\n`)
      process.exit(1)
    },
  )
}

/** What is not settled by then is left: every promise that was made is in the log already. */
const DRAIN_MS_MAX = 10_000

/**
 * Resolves when the process is asked to stop: SIGTERM, SIGINT, or the end of its supervisor. From then on the process
 * ends within `DRAIN_MS_MAX`, settled or not.
 */
export async function stopSignal(): Promise<void> {
  isServing = true
  await new Promise<void>((resolve) => {
    process.once('SIGTERM', () => resolve())
    process.once('SIGINT', () => resolve())
    onSupervisorGone(resolve)
  })
  setTimeout(() => process.exit(0), DRAIN_MS_MAX).unref()
}

/** Repeats what needs a dependency until it is there. The first failure is logged, then one in ten. */
export async function untilAvailable<T>(what: string, attempt: () => Promise<T>, log: Logger): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      return await attempt()
    } catch (cause) {
      if (failures % 10 === 0) log.warn({ err: cause, failures }, `waiting for ${what}`)
      await sleep(300)
    }
  }
}
