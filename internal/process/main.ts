import { fstatSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigError, HelpAsked } from '../config/settings.js'
import type { Logger } from '../telemetry/log.js'

/** What this process and its children write, also by libraries, is for their user alone. Before anything is written. */
export const keepFilesPrivate = (): void => void process.umask(0o077)

/** Calls back when stdin, if it is a pipe, closes: the supervisor has exited, perhaps by a kill. */
function onSupervisorExit(listener: () => void): void {
  const stdin = fstatSync(0)
  if (stdin.isFIFO() || stdin.isSocket()) process.stdin.resume().once('close', listener)
}

/** Whether the role waits for `stopSignal`: there is something to drain. */
let isServing = false

/**
 * Runs a role's main. An error that the operator can correct (ConfigError) ends the process with its message on stderr
 * and exit code 1. A defect ends it with its stack and exit code 1; the supervisor restarts the role.
 */
export function runMain(role: string, main: () => Promise<void>): void {
  keepFilesPrivate()
  onSupervisorExit(() => {
    // A role that still waits for the broker would wait forever: the broker exits with the supervisor.
    if (!isServing) process.exit(0)
  })
  main().then(
    // Everything is drained. uWebSockets.js and kept-alive connections would keep the event loop running.
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

/** A drain that takes longer is cut off. Nothing is lost: every acknowledged event is already in the log. */
const DRAIN_MS_MAX = 10_000

/**
 * Resolves when the process is asked to stop: on SIGTERM, on SIGINT, or when its supervisor exits. After that the
 * process exits within `DRAIN_MS_MAX`, drained or not.
 *
 * @param leave called on SIGTERM, by which a process is ended while others take its place: it goes on serving until this
 *   resolves, or until it is asked once more. Nothing takes the place of what ends with a terminal or its supervisor.
 */
export async function stopSignal(leave: () => Promise<void> = async () => undefined): Promise<void> {
  isServing = true
  if ((await nextAsked()) === 'SIGTERM') await Promise.race([leave(), nextAsked()])
  setTimeout(() => process.exit(0), DRAIN_MS_MAX).unref()
}

const nextAsked = (): Promise<'SIGTERM' | 'SIGINT' | 'supervisor'> =>
  new Promise((resolve) => {
    process.once('SIGTERM', resolve)
    process.once('SIGINT', resolve)
    onSupervisorExit(() => resolve('supervisor'))
  })

/** Repeats an attempt until it succeeds. Logs the first failure and every tenth after it. @throws ConfigError */
export async function untilAvailable<T>(what: string, attempt: () => Promise<T>, log: Logger): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      return await attempt()
    } catch (cause) {
      // Only the operator can help.
      if (cause instanceof ConfigError) throw cause
      if (failures % 10 === 0) log.warn({ err: cause, failures }, `waiting for ${what}`)
      await sleep(300)
    }
  }
}
