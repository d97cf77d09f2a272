/** Folders that one file of a run prepares and that all others copy, such as that of an instance after its first start. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { isAlive } from './alive.js'

const run = promisify(execFile)

/**
 * Copies a template into a folder. The first caller of the run prepares it; others wait for it, whichever process they are
 * in. The run's folder holds it (`run/folder.ts`), so that no run uses a template of another version.
 *
 * @param prepare fills the template; no process may use it afterwards
 */
export async function copyTemplate(
  name: string,
  folder: string,
  prepare: (template: string) => Promise<void>,
): Promise<void> {
  const place = join(tmpdir(), `template-${name}`)
  const template = join(place, 'files')
  const ready = join(place, 'ready')
  if (!existsSync(ready) && isFirst(place)) {
    mkdirSync(template)
    await prepare(template)
    writeFileSync(ready, '')
  }
  while (!existsSync(ready)) {
    const maker = makerOf(place)
    if (maker !== undefined && !isAlive(maker) && !existsSync(ready))
      throw new Error(`the process that prepared ${place} has failed`)
    await sleep(20)
  }
  await run('cp', ['-a', `${template}/.`, folder])
}

/** Whether this is the first process of the run. */
function isFirst(place: string): boolean {
  try {
    mkdirSync(place)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw cause
  }
  writeFileSync(join(place, 'maker'), `${process.pid}\n`)
  return true
}

/** Undefined until the maker has named itself. */
function makerOf(place: string): number | undefined {
  const file = join(place, 'maker')
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return text.endsWith('\n') ? Number(text) : undefined
}
