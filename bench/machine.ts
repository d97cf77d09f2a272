import { execFileSync } from 'node:child_process'
import { cpus, release, totalmem } from 'node:os'

/** Machine and versions of a figure; absolute figures compare only where these are equal. */
export interface Provenance {
  readonly date: string
  readonly commit: string
  /** Whether the checkout differed from the commit. */
  readonly modified: boolean
  readonly cpu: string
  readonly cores: number
  readonly memory_bytes: number
  readonly kernel: string
  readonly node: string
}

/** @param checkout folder of the repository */
export function provenance(checkout: string): Provenance {
  return {
    date: new Date().toISOString(),
    commit: git(checkout, 'rev-parse', 'HEAD') ?? 'unknown',
    modified: git(checkout, 'status', '--porcelain', '--untracked-files=no') !== '',
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memory_bytes: totalmem(),
    kernel: release(),
    node: process.version,
  }
}

function git(checkout: string, ...args: readonly string[]): string | undefined {
  try {
    return execFileSync('git', ['-C', checkout, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return undefined // an unpacked archive has no history
  }
}
