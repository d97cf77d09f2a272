/**
 * A program of somebody else, unmodified, on the built product: a test whose outcome is a row of
 * `deploy/docs/conformance.md` (`table.ts`).
 */
import { expect, test } from 'vitest'
import { installed } from '../clients/installed.js'
import { type RunOptions, run } from '../clients/run.js'
import { type Checks, checksIn } from './checks.js'
import { DRIVERS } from './pins.js'

export interface Program {
  /** As its users call it. */
  readonly name: string
  readonly version: string
  /** What is tried, in a few words for the table. */
  readonly tries: string
  /** A folder below `test/conformance/` with its driver and what pins it (`clients/installed.ts`); none: no download. */
  readonly installs?: string
  /** Checks that fail and should: their names, comma-separated, with the sentence of the standard that says so. */
  readonly falseAlarms?: Readonly<Record<string, string>>
  /** It stops after a time, on a slow machine before it has come to each of its false alarms. */
  readonly stopsByTime?: true
}

/** A row of the table. */
export interface Row extends Pick<Program, 'name' | 'version' | 'tries'> {
  readonly passed: number
  readonly failed: number
  readonly why: string
}

declare module 'vitest' {
  interface TaskMeta {
    conformance?: Row
  }
}

/** Of one program with its download, on a slow machine. */
const MINUTES_MAX = 30

/**
 * @param check drives the program
 * @param check.folder where it is installed; the empty text when it installs nothing
 */
export function conformance(program: Program, check: (folder: string) => Promise<Checks>): void {
  const { name, version, tries, installs, falseAlarms = {}, stopsByTime = false } = program
  test(name, { timeout: MINUTES_MAX * 60_000 }, async (context) => {
    const place = installs === undefined ? { path: '' } : await installed(installs, DRIVERS)
    if ('reason' in place) return context.skip(place.reason)
    const checks = await check(place.path)
    const failed = [...checks].filter(([, fault]) => fault !== undefined)
    const why = Object.entries(falseAlarms).map(([what, sentence]) => `${what}: ${sentence}`)
    const passed = checks.size - failed.length
    context.task.meta.conformance = { name, version, tries, passed, failed: failed.length, why: why.join(' ') }

    const alarms = Object.keys(falseAlarms).flatMap((names) => names.split(', '))
    expect(failed.filter(([what]) => !alarms.includes(what))).toEqual([])
    if (!stopsByTime) expect(failed.map(([what]) => what).sort()).toEqual(alarms.sort())
    expect(passed).toBeGreaterThan(0)
  })
}

/**
 * Runs a driver, which prints a line for each of its checks: `ok <check>` or `not ok <check>: <why>`.
 *
 * @throws Error when it does not end by itself with 0
 */
export async function driven(command: readonly [string, ...string[]], options: RunOptions): Promise<Checks> {
  const [program, ...args] = command
  const { code, output } = await run(program, args, options)
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${output}`)
  return checksIn(output)
}
