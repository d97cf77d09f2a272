import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { writeDurably } from '../../process/durable-files.js'
import type { InstanceFiles } from './supervised-instance.js'

const SEED = 1
const DAYS = 7

/**
 * Fills a new sandbox with a week of synthetic data while the service runs; the output goes to the terminal. A file in
 * the data folder marks a filled sandbox. If filling is interrupted, the next start repeats it.
 *
 * @returns undefined when the sandbox is filled already
 */
export function fillSandbox(
  cliMain: string,
  files: InstanceFiles,
  env: Readonly<Record<string, string>>,
): ChildProcess | undefined {
  const mark = join(files.dataDir, 'sandbox-data.json')
  if (existsSync(mark)) return undefined
  const args = ['sandbox-data', '--data-dir', files.dataDir, '--seed', String(SEED), '--days', String(DAYS)]
  const child = spawn(process.execPath, [cliMain, ...args], { env, stdio: ['ignore', 'inherit', 'inherit'] })
  child.once('close', (code) => {
    if (code === 0) writeDurably(mark, `${JSON.stringify({ seed: SEED, filled_at: new Date().toISOString() })}\n`)
  })
  return child
}
