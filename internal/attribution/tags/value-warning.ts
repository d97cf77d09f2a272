import type { PublishEvent } from '../../events/publish-event.js'
import { TAG_VALUES_MAX } from '../../records/dimensions.js'
import type { Logger } from '../../telemetry/log.js'

export interface ValueWarningDeps {
  readonly publishEvent: PublishEvent
  readonly clock: () => number
  readonly log: Logger
}

/** Keys remembered as warned of today; beyond, some are warned of again, which is the same event. */
const WARNED_MAX = 10_000
const DAY_CHARACTERS = 'YYYY-MM-DD'.length

/** Tells a tenant that a tag key has too many values: one event per key and day (UTC), whichever attributor finds it. */
export function valueWarning({ publishEvent, clock, log }: ValueWarningDeps): (tenantId: string, key: string) => void {
  const warned = new Set<string>()
  return (tenantId, key) => {
    const day = new Date(clock()).toISOString().slice(0, DAY_CHARACTERS)
    const name = `${tenantId} ${day} ${key}`
    if (warned.has(name)) return
    if (warned.size >= WARNED_MAX) warned.clear()
    warned.add(name)
    log.warn({ tenantId }, 'a declared tag key has too many values; further ones are stored as other values')
    publishEvent({
      tenantId,
      type: 'capacity.warning',
      cause: `tag_values ${day} ${key}`,
      data: { capacity: 'tag_values', subject: key, limit: TAG_VALUES_MAX },
    }).catch((cause: unknown) => {
      warned.delete(name)
      log.warn({ tenantId, err: cause }, 'could not publish a capacity warning; will retry at the next value')
    })
  }
}
