import { type ChildProcess, spawn } from 'node:child_process'
import type { InstanceFiles } from './supervised-instance.js'

/** Runs `attribution demo` beside the service; its output goes to the terminal. */
export const runDemo = (
  cliMain: string,
  files: InstanceFiles,
  env: Readonly<Record<string, string>>,
  speed: number,
  eventIds: string,
): ChildProcess =>
  spawn(
    process.execPath,
    [cliMain, 'demo', '--credentials', files.credentials, '--speed', String(speed), '--event-ids', eventIds],
    { env, stdio: ['ignore', 'inherit', 'inherit'] },
  )
