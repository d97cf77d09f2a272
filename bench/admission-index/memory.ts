import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Memory of the process; `collected`: after a garbage collection. */
export function residentBytes({ collected = false } = {}): number {
  if (collected) for (let i = 0; i < 3; i++) collect()
  return process.memoryUsage.rss()
}
