import type { VirtualTime } from './virtual-time.js'

/**
 * The program of a simulation: runs as many histories as its arguments say, `<first seed> <histories> [<breakage>]`. It
 * prints a line per failure, and ends with the first one when the build is broken on purpose.
 *
 * @param run a history; resolves to what is wrong, undefined: nothing
 */
export async function runHistories<Breakage extends string>(
  time: VirtualTime,
  run: (seed: number, breakage: Breakage | undefined) => Promise<string | undefined>,
): Promise<never> {
  const [first = '0', histories = '1', breakage] = process.argv.slice(2)
  for (let seed = Number(first); seed < Number(first) + Number(histories); seed++) {
    const failure = await time.until(run(seed, breakage as Breakage | undefined))
    time.clear()
    if (failure === undefined) continue
    process.stdout.write(`seed ${seed}: ${failure}\n`)
    if (breakage !== undefined) break
  }
  process.exit(0)
}
