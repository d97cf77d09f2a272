/**
 * Processes that all workers of a run share. Their stdin is a named pipe whose other end the run holds: they outlive
 * the worker that starts them, and stop by themselves when the run ends, however it does.
 */
import { execFileSync, spawn } from 'node:child_process'
import { appendFileSync, closeSync, existsSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentOf } from '../../../bench/cpu-time.js'
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
    const file = processIdsIn(folder)
    const until = Date.now() + STOPPING_MS_MAX
    const pids = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number) : []
    // Once they stop, what they have started is nobody's: their stops themselves are not counted.
    const seconds = withDescendants(pids).reduce((sum, pid) => sum + processorSeconds(pid), 0)
    closeSync(held)
    for (let running = pids.filter(isAlive); running.length > 0; running = running.filter(isAlive)) {
      if (Date.now() > until) for (const pid of running) process.kill(pid, 'SIGKILL')
      await sleep(20)
    }
    if (seconds === 0) return
    console.log(`Processor time of what all workers share: ${Math.round(seconds)} s`)
    const noted = process.env['SHARED_PROCESSOR_SECONDS']
    if (noted !== undefined) writeFileSync(noted, String(seconds))
  }
}

/** Processes with all that they have started and that is running. None where there is no /proc. */
function withDescendants(pids: readonly number[]): readonly number[] {
  const children = new Map<number, number[]>()
  for (const name of existsSync('/proc') ? readdirSync('/proc') : []) {
    if (!/^\d+$/.test(name)) continue
    const parent = parentOf(Number(name))
    children.set(parent, [...(children.get(parent) ?? []), Number(name)])
  }
  const all = [...pids]
  // Grows while it is walked.
  for (const pid of all) all.push(...(children.get(pid) ?? []))
  return all
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
