/** How a store ends: asked to, by a failed write, or by an error. */
import { fstatSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigError, HelpAsked } from '../../internal/config/settings.js'
import { START_AGAIN } from '../../internal/process/exit-codes.js'
import { type Engine, EngineStartError, UnreadablePartsError } from '../../internal/store/engine/engine.js'
import { FailedWriteError } from '../../internal/store/failed-writes.js'

/** Resolves when the process is asked to stop. */
export function stopRequested(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGTERM', () => resolve())
    process.once('SIGINT', () => resolve())
    const stdin = fstatSync(0)
    if (stdin.isFIFO() || stdin.isSocket()) {
      // An error of the pipe also means that the parent has exited.
      process.stdin.on('error', () => resolve())
      process.stdin.resume().once('close', () => resolve())
    }
  })
}

/**
 * Ends the process with one line. If the engine may be running, by SIGKILL, which its data survives: an exit would wait
 * forever for the engine's threads.
 */
export function fail(error: unknown): void {
  if (error instanceof HelpAsked) {
    writeSync(process.stdout.fd, `${error.message}\n`)
    process.exit(0)
  }
  const isExpected = error instanceof ConfigError || error instanceof EngineStartError
  const isKnown = isExpected || error instanceof FailedWriteError
  const reason = error instanceof Error && !isKnown ? error.stack : (error as Error).message
  try {
    // Synchronously: the process ends before a stream is flushed. The reader of stderr may have exited.
    writeSync(process.stderr.fd, `store: ${reason}\n`)
  } finally {
    if (!isExpected) process.kill(process.pid, 'SIGKILL')
    process.exit(error instanceof UnreadablePartsError ? START_AGAIN : 1)
  }
}

/** A query costs the engine as much as all else that it does at rest. */
const LOOK_EVERY_MS = 5_000

/**
 * Resolves when a write of the engine has failed. A merge of which one did counts as done, and its sources are removed
 * some minutes later: an engine that starts before that reads them again.
 *
 * @param syncsTokens whether a log of tokens that the engine has begun meanwhile is written through: on Btrfs it does
 *   not inherit that from its folder
 */
export async function untilWriteFails(engine: Engine, syncsTokens: boolean): Promise<void> {
  while ((await engine.failedWrites()) === 0) {
    await sleep(LOOK_EVERY_MS, undefined, { ref: false })
    if (syncsTokens) engine.writeTokensThrough()
  }
}
