import { readFileSync } from 'node:fs'

/**
 * Of a process and of all that it or its children have waited for: not of what outlived its parent. 0 where there is
 * no /proc, or no such process any more.
 *
 * @param {number | 'self'} pid
 */
export function processorSeconds(pid = 'self') {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    // User and system time, own and of children, in ticks of which a second has a hundred.
    return fields.slice(11, 15).reduce((sum, text) => sum + Number(text), 0) / 100
  } catch {
    return 0
  }
}
