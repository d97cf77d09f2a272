/** What a check of an instance has found, as monitoring systems grade it. */
export interface Finding {
  /** The part that was looked at, such as `broker` or `clock of the store`. */
  readonly check: string
  readonly status: FindingStatus
  /** What was seen, and what to do where it is not as it should be. */
  readonly detail: string
}

export type FindingStatus = 'ok' | 'warning' | 'failure'

export const ok = (check: string, detail: string): Finding => ({ check, status: 'ok', detail })
export const warning = (check: string, detail: string): Finding => ({ check, status: 'warning', detail })
export const failure = (check: string, detail: string): Finding => ({ check, status: 'failure', detail })

/** Grades a quantity by the values from which it is a warning and a failure. */
export function graded(
  check: string,
  value: number,
  { warningFrom, failureFrom }: { readonly warningFrom: number; readonly failureFrom: number },
  seen: string,
  advice: string,
): Finding {
  if (value < warningFrom) return ok(check, seen)
  return { check, status: value < failureFrom ? 'warning' : 'failure', detail: `${seen}: ${advice}` }
}

/** The exit codes of monitoring plugins (Nagios): 0 when all is well, 1 with a warning, 2 with a failure. */
export function exitCodeOf(findings: Iterable<Pick<Finding, 'status'>>): 0 | 1 | 2 {
  let code: 0 | 1 | 2 = 0
  for (const { status } of findings) {
    if (status === 'failure') return 2
    if (status === 'warning') code = 1
  }
  return code
}
