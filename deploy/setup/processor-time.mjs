import { existsSync, readFileSync } from 'node:fs'

/**
 * Of this process and of all that it or its children have waited for: not of what outlived its parent. 0 where there is
 * no /proc.
 */
export function processorSeconds() {
  if (!existsSync('/proc/self/stat')) return 0
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
  // User and system time, own and of children, in ticks of which a second has a hundred.
  return fields.slice(11, 15).reduce((sum, text) => sum + Number(text), 0) / 100
}
