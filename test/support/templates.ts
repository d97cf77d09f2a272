/**
 * Folders that one file of a run prepares and that all others copy, such as that of an instance after its first start.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { onceInRun } from './run/once.js'

const run = promisify(execFile)

/**
 * Copies a template into a folder. The first caller of the run prepares it (`run/once.ts`).
 *
 * @param prepare fills the template; no process may use it afterwards
 */
export async function copyTemplate(
  name: string,
  folder: string,
  prepare: (template: string) => Promise<void>,
): Promise<void> {
  const template = await onceInRun(`template-${name}`, prepare)
  await run('cp', ['-a', `${template}/.`, folder])
}
