/**
 * Processes that all workers of a run share. Their stdin is a named pipe whose other end the run holds: they outlive
 * the worker that starts them, and stop by themselves when the run ends, however it does.
 */
import { execFileSync, spawn } from 'node:child_process'
import { appendFileSync, closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { processorSeconds } from '../../../deploy/setup/processor-time.mjs'
import { isAlive } from '../alive.js'
import { localEnvironment } from '../local-environment.js'

const STOPPING_MS_MAX = 20_000

const lifelineIn = (folder: string): string => join(folder, 'lifeline')
/** Process ids, one per line. */
const processIdsIn = (folder: string): string => join(folder, 'shared-processes')

/**
 * @returns to be called at the end of the run, when its workers have ended: stops what they have launched, and waits
 * for it
 */
export function holdSharedProcesses(folder: string): () => Promise<void> {
  execFileSync('mkfifo', [lifelineIn(folder)])
  // Also readable, so that opening it does not wait for a reader.
  const held = openSync(lifelineIn(folder), 'r+')
  return async () => {
    closeSync(held)
    const file = processIdsIn(folder)
    const until = Date.now() + STOPPING_MS_MAX
    const pids = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number) : []
    const seconds = new Map<number, number>()
    for (let running = pids.filter(isAlive); running.length > 0; running = running.filter(isAlive)) {
      for (const pid of running) {
        // That of a role is counted when its parent has waited for it, which is at its end.
        seconds.set(pid, Math.max(seconds.get(pid) ?? 0, processorSeconds(pid)))
        if (Date.now() > until) process.kill(pid, 'SIGKILL')
      }
      await sleep(20)
    }
    const sum = [...seconds.values()].reduce((total, own) => total + own, 0)
    // They have outlived the workers that started them, so that these do not count it.
    if (sum > 0) console.log(`Processor time of what all workers share, besides that below: ${Math.round(sum)} s`)
  }
}

/** Starts a script whose output goes to a file. Resolves once the file has a line that matches. */
export async function launchShared(args: readonly string[], output: string, pattern: RegExp): Promise<void> {
  const stdin = openSync(lifelineIn(tmpdir()), 'r')
  const written = openSync(output, 'a')
  const child = spawn(process.execPath, args, { env: localEnvironment(), stdio: [stdin, written, written] })
  closeSync(stdin)
  closeSync(written)
  child.unref()
  const pid = child.pid ?? -1
  appendFileSync(processIdsIn(tmpdir()), `${pid}\n`)
  while (!pattern.test(readFileSync(output, 'utf8'))) {
    if (!isAlive(pid)) throw new Error(`${args.join(' ')} has ended:\n${readFileSync(output, 'utf8')}`)
    await sleep(50)
  }
}
