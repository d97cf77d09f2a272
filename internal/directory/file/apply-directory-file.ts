import { isDeepStrictEqual } from 'node:util'
import type { Records } from '../../broker/records.js'
import { directoryKey } from '../directory-key.js'
import type { Change, Entry, Plan, Refusal } from './plan-directory-file.js'

/** Writes in flight. With 256, a busy broker answered others so late that gateways took their credentials for stale. */
const AT_ONCE = 32

export interface Applied {
  /** Entries written or deleted so far. */
  readonly done: number
  /** Changes that were not made, because somebody else changed the entry since the file was compared. */
  readonly conflicts: readonly Refusal[]
}

/**
 * Makes the changes of a plan. Entries that others have changed meanwhile stay as those left them. Safe to repeat: a
 * later plan has only the remaining changes.
 *
 * @param onProgress called after each change
 */
export async function applyPlan(
  tenantId: string,
  { adds, changes, removals }: Plan,
  records: Records<Entry>,
  onProgress: (applied: Applied) => void,
): Promise<Applied> {
  const conflicts: Refusal[] = []
  let done = 0
  const open = [...adds, ...changes, ...removals].values()
  const worker = async (): Promise<void> => {
    for (const change of open) {
      if (await make(tenantId, change, records)) done++
      else {
        const { kind, line, pointer } = change
        conflicts.push({ kind, line, pointer, reason: 'was changed by somebody else meanwhile' })
      }
      onProgress({ done, conflicts })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return { done, conflicts }
}

/** @returns false when the entry is not what the plan was made for */
const make = (tenantId: string, { kind, name, before, after }: Change, records: Records<Entry>): Promise<boolean> =>
  exchangeEntry(directoryKey(tenantId, kind, name), before, after, records)

/** Puts a record in the place of another; undefined for none. @returns false when there is neither of the two */
export async function exchangeEntry<T>(
  key: string,
  before: T | undefined,
  after: T | undefined,
  records: Records<T>,
): Promise<boolean> {
  if (after === undefined) return records.delete(key, (entry) => isDeepStrictEqual(entry, before))
  if (before === undefined) return isDeepStrictEqual(await records.createOnce(key, after), after)
  let isMeant = false
  await records.change(key, (entry) => {
    isMeant = isDeepStrictEqual(entry, before)
    return isMeant ? after : undefined
  })
  return isMeant
}
