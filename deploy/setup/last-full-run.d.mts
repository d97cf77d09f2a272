export interface FullRun {
  readonly commit: string
  /** UTC, such as `2026-11-28`. */
  readonly date: string
  readonly seconds: number
}
export function lastFullRun(root: string): FullRun | undefined
export function reminder(last: FullRun | undefined, now: Date): string | undefined
export function testedCommit(root: string): Promise<string | undefined>
export function recordFullRun(root: string, run: FullRun): void
