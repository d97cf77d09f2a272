import { ATTEMPTS, ATTEMPTS_CHECKPOINT, ATTEMPTS_SUBJECT } from '../../../streams/retries.js'
import type { Progress } from '../../broker/checkpoint.js'
import type { PlannedLog } from '../../broker/planned-log.js'
import type { AttemptRow } from '../../store/tables/webhook-attempts.js'
import type { Logger } from '../../telemetry/log.js'
import { decodeAttempts } from './attempt-codec.js'

export interface AttemptLogDeps {
  /** Inserts rows; a repeat with the same token changes nothing. */
  readonly insert: (rows: readonly AttemptRow[], token: string) => Promise<void>
  /** When the stream was created, seconds since the epoch: identifies this incarnation of the log. */
  readonly logId: number
  readonly log: Logger
}

/** Moves attempt records from the stream ATTEMPTS to the delivery log in the read model, each once. */
export const attemptLog = ({ insert, logId, log }: AttemptLogDeps): PlannedLog<Progress> => ({
  key: ATTEMPTS_CHECKPOINT,
  stream: ATTEMPTS.name,
  subject: ATTEMPTS_SUBJECT,
  initial: { done: 0 },
  async open() {
    return async (entries, extent, _before, planned) => {
      const rows = entries.flatMap(({ data, sequence }) => {
        try {
          return decodeAttempts(data, logId, sequence)
        } catch (cause) {
          log.error({ err: cause, sequence }, 'dropped undecodable attempt records')
          return []
        }
      })
      return {
        plan: planned ?? extent,
        after: { done: extent.last },
        size: rows.length,
        inserts: rows.length > 0,
        applyEffects: () => insert(rows, `attempts.${extent.first}-${extent.last}`),
      }
    }
  },
})
