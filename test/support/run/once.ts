/**
 * What one worker of a run prepares and all others use. The run's folder holds it (`folder.ts`): no run uses another's.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isAlive } from '../alive.js'

/**
 * A folder that the first caller of the run fills; others wait until it has, whichever process they are in.
 *
 * @throws Error when it could not be filled
 */
export async function onceInRun(name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const place = join(tmpdir(), name)
  const folder = join(place, 'files')
  const ready = join(place, 'ready')
  const failed = join(place, 'failed')
  if (!existsSync(ready) && isFirst(place)) {
    mkdirSync(folder)
    try {
      await fill(folder)
    } catch (cause) {
      writeFileSync(failed, String(cause))
      throw cause
    }
    writeFileSync(ready, '')
  }
  while (!existsSync(ready)) {
    if (existsSync(failed)) throw new Error(`${place} could not be prepared: ${readFileSync(failed, 'utf8')}`)
    const maker = makerOf(place)
    if (maker !== undefined && !isAlive(maker) && !existsSync(ready))
      throw new Error(`the process that prepared ${place} has ended`)
    await sleep(20)
  }
  return folder
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
