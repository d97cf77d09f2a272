import type { VirtualTime } from './virtual-time.js'

/**
 * The program of a simulation: runs as many histories as its arguments say, `<first seed> <histories> [<breakage>]`, any
 * number of times. It prints a line per failure, only the first one of a build that is broken on purpose.
 *
 * @param run a history; resolves to what is wrong, undefined: nothing
 */
export async function runHistories<Breakage extends string>(
  time: VirtualTime,
  run: (seed: number, breakage: Breakage | undefined) => Promise<string | undefined>,
): Promise<never> {
  for (let args = process.argv.slice(2); args.length > 0; args = args.slice(3)) {
    const [first = '0', histories = '1', breakage] = args
    for (let seed = Number(first); seed < Number(first) + Number(histories); seed++) {
      const failure = await time.until(run(seed, breakage as Breakage | undefined))
      time.clear()
      if (failure === undefined) continue
      process.stdout.write(`${breakage === undefined ? '' : `${breakage}: `}seed ${seed}: ${failure}\n`)
      if (breakage !== undefined) break
    }
  }
  process.exit(0)
}
