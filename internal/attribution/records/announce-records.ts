import type { PublishEvent } from '../../events/publish-event.js'
import { idHex } from '../../ids/ids.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import { attributionEvent } from './record-event.js'

export interface AnnounceDeps {
  /** Whether the tenant has a subscriber to new attributions. Only then are events published: there is one per call. */
  readonly isSubscribed: (tenantId: string) => boolean
  readonly publishEvent: PublishEvent
}

/** Publishes events for stored versions of records. Safe to repeat: the same version is the same event. */
export type Announce = (rows: readonly AttributionRow[]) => Promise<void>

/** Published events that may await their acknowledgement at the same time. */
const IN_FLIGHT_MAX = 500

export const announcer =
  ({ isSubscribed, publishEvent }: AnnounceDeps): Announce =>
  async (rows) => {
    const subscribed = new Map<string, boolean>()
    const announced = rows.filter(({ tenantId }) => {
      const known = subscribed.get(tenantId) ?? isSubscribed(tenantId)
      subscribed.set(tenantId, known)
      return known
    })
    for (let from = 0; from < announced.length; from += IN_FLIGHT_MAX) {
      const portion = announced.slice(from, from + IN_FLIGHT_MAX)
      await Promise.all(
        portion.map((row) => publishEvent(attributionEvent('attribution.materialized', row, nameOf(row)))),
      )
    }
  }

const nameOf = ({ id, validFromMs }: AttributionRow): string => `${idHex(id)}.${validFromMs}`
