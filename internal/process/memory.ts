import { totalmem } from 'node:os'

/**
 * A share of the memory that this process may use: of the machine, or of the container if that has less.
 *
 * @param share 0 to 1
 * @returns bytes
 */
export function memoryShareBytes(share: number): number {
  const limit = process.constrainedMemory()
  return Math.floor(share * (limit > 0 ? Math.min(limit, totalmem()) : totalmem()))
}
