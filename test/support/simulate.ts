import { expect } from 'vitest'
import { launch } from './processes.js'

/** The first seed, how many histories, and how the build is broken on purpose. */
export type Histories = readonly [first: number, count: number, breakage?: string]

/**
 * Runs a simulation (`histories.ts`) in a process of its own, since it replaces clocks and timers.
 *
 * @param program its name in `test/support/`
 * @param runs only the last may be of a build that is not broken
 * @returns a line per failure, `[<breakage>: ]seed <n>: …`
 */
export async function failuresOf(program: string, ...runs: readonly Histories[]): Promise<readonly string[]> {
  const simulated = launch(`dist/test/support/${program}.js`, { args: runs.flat().map(String) })
  expect(await simulated.exited).toEqual({ code: 0, signal: null })
  // Starts say on stderr what they wait for.
  return simulated.lines.filter((line) => /^(?:[a-zA-Z ]+: )?seed \d+: /.test(line))
}
