import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const WRITES = 15
const WRITE_BYTES = 4_096

/**
 * What a synced write costs on the disk of a folder: the median of a few, in milliseconds.
 *
 * @throws the system's error
 */
function syncedWriteMs(folder: string): number {
  const file = join(folder, '.synced')
  const descriptor = openSync(file, 'w', 0o600)
  try {
    const bytes = Buffer.alloc(WRITE_BYTES, 1)
    const took = Array.from({ length: WRITES }, () => {
      const startedAt = performance.now()
      writeSync(descriptor, bytes)
      fdatasyncSync(descriptor)
      return performance.now() - startedAt
    })
    return took.sort((one, other) => one - other)[Math.floor(WRITES / 2)] as number
  } finally {
    closeSync(descriptor)
    rmSync(file, { force: true })
  }
}

interface Durable {
  readonly durability: 'power' | 'process'
  /** Whether broker and store are processes of this instance; others are as their operators have them. */
  readonly isPrivate: boolean
  readonly folder: string
}

/** For the terminal: what a 202 survives, and what that costs here. */
export function durabilityText({ durability, isPrivate, folder }: Durable): string {
  if (!isPrivate) return 'a 202 survives the kill of every process here; a power cut: as your broker and store are set.'
  if (durability === 'process') {
    return 'a 202 survives the kill of every process; a power cut can lose the last two minutes (--durability power).'
  }
  const ms = syncedWriteMs(folder)
  return (
    `a 202 survives the kill of every process, and a power cut: each is synced, which takes ` +
    `${ms.toFixed(ms < 10 ? 1 : 0)} ms on this disk (--durability process: faster, not for power cuts).`
  )
}
