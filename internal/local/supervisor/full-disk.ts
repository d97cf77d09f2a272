import { statfsSync } from 'node:fs'
import type { Supervisor } from './children.js'
import { type InstanceFiles, writeRunFile } from './supervised-instance.js'

/** With less than this, writes of a broker or a store fail, or will within a second. */
const FULL_BYTES = 64 * 1024 ** 2
/** Enough to go on for a while: not at the first byte, or the next write would fail. */
const ROOM_BYTES = 256 * 1024 ** 2
const LOOK_EVERY_MS = 500

/** What is done when the disk is full, and when there is room again. */
export interface DiskReactions {
  readonly onFull: () => void
  readonly onRoom: () => void
}

/**
 * Watches the disk of a folder until `stop` is called.
 *
 * @param freeBytes of the disk, for those without privileges
 */
export function watchDisk({ onFull, onRoom }: DiskReactions, freeBytes: () => number): { stop(): void } {
  let isFull = false
  const look = (): void => {
    const free = freeBytes()
    if (!isFull && free < FULL_BYTES) {
      isFull = true
      onFull()
    } else if (isFull && free > ROOM_BYTES) {
      isFull = false
      onRoom()
    }
  }
  const timer = setInterval(look, LOOK_EVERY_MS)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

function freeBytesOf(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/** On a full disk the old list stays: all roles end with this process, whatever it says. */
export function noteProcesses(files: InstanceFiles, pids: ReadonlyMap<string, number>): void {
  try {
    writeRunFile(files, pids)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOSPC') throw cause
  }
}

/** A nats-server does not write again to a stream that once met a full disk, until it is started again. */
export const surviveFullDisk = (
  supervisor: Pick<Supervisor, 'restart'>,
  files: Pick<InstanceFiles, 'dataDir'>,
  hasOwnBroker: boolean,
  print: (line: string) => void,
): { stop(): void } =>
  watchDisk(
    {
      onFull: () => print(`the disk of ${files.dataDir} is full: events are refused with 503 until there is room`),
      onRoom: () => {
        print(`the disk of ${files.dataDir} has room again${hasOwnBroker ? ': nats-server starts again' : ''}`)
        if (hasOwnBroker) supervisor.restart('nats')
      },
    },
    () => freeBytesOf(files.dataDir),
  )
