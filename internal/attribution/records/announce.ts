import type { PublishEvent } from '../../events/publish.js'
import { idHex } from '../../ids/ids.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import { attributionEvent } from './event.js'

export interface AnnounceDeps {
  /** Whether anybody wants to hear of a tenant's new attributions: nobody else is told, since there is one a call. */
  readonly isSubscribed: (tenantId: string) => boolean
  readonly publishEvent: PublishEvent
}

/** Tells that versions of records are in the read model. Safe to repeat: the same version is the same event. */
export type Announce = (rows: readonly AttributionRow[]) => Promise<void>

/** Published and not acknowledged at once. */
const UNDER_WAY_MAX = 500

export const announcer =
  ({ isSubscribed, publishEvent }: AnnounceDeps): Announce =>
  async (rows) => {
    const wanted = new Map<string, boolean>()
    const told = rows.filter(({ tenantId }) => {
      const known = wanted.get(tenantId) ?? isSubscribed(tenantId)
      wanted.set(tenantId, known)
      return known
    })
    for (let from = 0; from < told.length; from += UNDER_WAY_MAX) {
      const portion = told.slice(from, from + UNDER_WAY_MAX)
      await Promise.all(
        portion.map((row) => publishEvent(attributionEvent('attribution.materialized', row, nameOf(row)))),
      )
    }
  }

const nameOf = ({ id, validFromMs }: AttributionRow): string => `${idHex(id)}.${validFromMs}`
