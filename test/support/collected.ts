import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Collects garbage until something is so. */
export async function collectedUntil(isSo: () => boolean, turnsMax = 100): Promise<void> {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  for (let turn = 0; !isSo() && turn < turnsMax; turn++) {
    collectGarbage()
    await setImmediate()
  }
}
