/**
 * A disk whose power can be cut: ext4 on an image that lies on btrfs. A cut is a clone of the image, which btrfs makes
 * at one instant: what had reached the device by then, and nothing that was only in the page cache.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { atEnd } from '../run/at-end.js'

export interface CutDisk {
  /** Where it is mounted. */
  readonly folder: string
  /** Cuts the power: from now on, what is written to the disk is lost. */
  cut(): void
  /** Mounts what had reached the device at the cut, as soon as nothing uses the disk any more. */
  mountAgain(): Promise<void>
}

/** Its gigabytes would leave the streams of other tests, which reserve memory, too little of it. */
const ON_DISK = '/var/tmp'
/** Sparse: a disk takes as much as is written to it. */
const [OUTER, INNER] = ['48G', '32G']

/** Why there can be no such disk here; undefined where there can. */
export function noCutDisk(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root may mount'
  if (spawnSync('mkfs.btrfs', ['--version']).status !== 0) return 'mkfs.btrfs is missing (btrfs-progs of Debian)'
  if (spawnSync('sh', ['-c', 'grep -qw btrfs /proc/filesystems || modprobe btrfs']).status !== 0)
    return 'this kernel has no btrfs'
  return undefined
}

export function makeCutDisk(): CutDisk {
  const place = mkdtempSync(join(ON_DISK, 'attribution-cut-'))
  const [outer, folder] = [join(place, 'outer'), join(place, 'disk')]
  for (const each of [outer, folder]) mkdirSync(each)
  const watcher = removedWithThisProcess(place)
  atEnd(() => {
    watcher.stdin.end()
    return once(watcher, 'exit')
  })
  const image = (number: number): string => join(outer, `${number}.img`)
  let current = 0
  run('truncate', '-s', OUTER, join(place, 'outer.img'))
  run('mkfs.btrfs', '-q', join(place, 'outer.img'))
  run('mount', '-o', 'loop', join(place, 'outer.img'), outer)
  run('truncate', '-s', INNER, image(current))
  run('mkfs.ext4', '-q', '-E', 'lazy_itable_init=1', image(current))
  run('mount', '-o', 'loop,discard', image(current), folder)
  return {
    folder,
    cut: () => run('cp', '--reflink=always', image(current), image(current + 1)),
    mountAgain: async () => {
      // A killed process has its files open until the kernel has taken it apart.
      while (spawnSync('umount', [folder]).status !== 0) await sleep(50)
      rmSync(image(current))
      current++
      run('mount', '-o', 'loop,discard', image(current), folder)
    },
  }
}

/** A mount outlives every process: a shell ends both of a disk once this process has ended, even by SIGKILL. */
function removedWithThisProcess(place: string) {
  const ends = 'read -r _; umount -l "$1/disk"; umount -l "$1/outer"; rm -rf --one-file-system "$1"'
  return spawn('sh', ['-c', ends, 'sh', place], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
}

function run(command: string, ...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(command, args)
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stderr.toString()}`)
}
