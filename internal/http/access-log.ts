import type { Logger } from '../telemetry/log.js'

/** An answer that takes longer is logged. */
export const SLOW_MS = 1_000
/** A flood of refusals must not become one of lines. */
const LINES_PER_SECOND_MAX = 20

export interface NotableAnswer {
  /** Method and pattern, such as `POST /api/v1/invocations`; a path itself may name what must not be logged. */
  readonly route: string
  /** 0: the client left before its answer. */
  readonly status: number
  readonly error_code: string | undefined
  readonly trace_id: string
  readonly duration_ms: number
}

/** One line for each request that was refused or slow; never who sent it. */
export class AccessLog {
  private readonly log: Logger
  private readonly clock: () => number
  private second = 0
  private lines = 0
  private passedOver = 0

  constructor(log: Logger, clock: () => number = Date.now) {
    this.log = log
    this.clock = clock
  }

  note(answer: NotableAnswer): void {
    const second = Math.floor(this.clock() / 1_000)
    if (second !== this.second) {
      this.second = second
      this.lines = 0
    }
    if (this.lines === LINES_PER_SECOND_MAX) {
      this.passedOver++
      return
    }
    this.lines++
    const entry = this.passedOver === 0 ? answer : { ...answer, not_logged: this.passedOver }
    this.passedOver = 0
    const isRefused = answer.status >= 400
    if (answer.status >= 500 || !isRefused) this.log.warn(entry, isRefused ? 'request failed' : 'request slow')
    else this.log.info(entry, 'request refused')
  }
}
