import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** What the process occupies; `collected`: after the collector has given back what nobody refers to. */
export function residentBytes({ collected = false } = {}): number {
  if (collected) for (let i = 0; i < 3; i++) collect()
  return process.memoryUsage.rss()
}
