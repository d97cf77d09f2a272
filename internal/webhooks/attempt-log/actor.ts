import { ATTEMPTS, ATTEMPTS_CHECKPOINT, ATTEMPTS_SUBJECT } from '../../../streams/retries.js'
import type { Progress } from '../../broker/checkpoint.js'
import type { PlannedLog } from '../../broker/planned-log.js'
import type { AttemptRow } from '../../store/tables/webhook-attempts.js'
import type { Logger } from '../../telemetry/log.js'
import { decodeAttempts } from './codec.js'

export interface AttemptLogDeps {
  /** Keeps rows once for a token. */
  readonly insert: (rows: readonly AttemptRow[], token: string) => Promise<void>
  /** Of the stream: when it was created, seconds since the epoch. */
  readonly logId: number
  readonly log: Logger
}

/** Moves what became of attempts from the stream ATTEMPTS to the read model, each once: the delivery log (spec 6.2.4). */
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
          log.error({ err: cause, sequence }, 'dropped what is no record of attempts')
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
