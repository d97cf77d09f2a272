import type { ClassLabel } from './model.js'
import type { TrainingRecord } from './train.js'

/** Services whose calls changed: what they looked like before says nothing about them now. */
export interface Forgotten {
  readonly classes: readonly ClassLabel[]
  /** Event time, milliseconds since the epoch. */
  readonly beforeMs: number
}

/** Number of unresolved records from which the older ones are left out too: they show the mix and the looks of before. */
const UNRESOLVED_MIN = 200

/** The records without those that no longer hold. */
export function forgetting(
  records: readonly TrainingRecord[],
  forgotten: readonly Forgotten[],
): readonly TrainingRecord[] {
  return forgotten.reduce<readonly TrainingRecord[]>((kept, { classes, beforeMs }) => {
    const isNewer = ({ facts }: TrainingRecord): boolean => facts.eventTimeMs >= beforeMs
    const newer = kept.filter((record) => record.outcome.kind === 'unresolved' && isNewer(record)).length
    return kept.filter((record) => {
      if (isNewer(record)) return true
      const { outcome } = record
      if (outcome.kind === 'unresolved' || outcome.kind === 'dispute') return newer < UNRESOLVED_MIN
      return !classes.some(({ service, owner }) => service === outcome.label.service && owner === outcome.label.owner)
    })
  }, records)
}
