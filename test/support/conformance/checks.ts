/** What a program says of each of its checks: undefined, or what failed. */
export type Checks = ReadonlyMap<string, string | undefined>

/** Of the output of a driver, which prints `ok <check>` or `not ok <check>: <why>` for each. */
export const checksIn = (output: string): Checks =>
  new Map(
    [...output.matchAll(/^(not )?ok (.+?)(?:: (.*))?$/gm)].map(([, not, what = '', why = '']) => [
      what,
      not === undefined ? undefined : why,
    ]),
  )
