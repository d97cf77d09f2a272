import type { NewEvent } from '../../events/event.js'
import type { PublishEvents } from '../../events/publish-event.js'
import { formatId, idHex } from '../../ids/ids.js'
import type { CostBasis, CostBound, FootprintBasis } from '../../records/bases.js'
import type { ConfidenceBand, DegradationState, StageOrigin } from '../../records/interpretation.js'
import { providerName } from '../../records/provider-names.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import { mergeId } from '../../store/tables/closed.js'
import { formatQuantity } from '../../units/quantity.js'
import type { MatchedBy } from '../sightings/seen-by.js'

/** The events whose payload is an attribution result. */
export type AttributionEventType = 'attribution.materialized' | 'attribution.disputed' | 'attribution.override.applied'

/** @param cause unique per event of the type: the same cause is the same event */
export const attributionEvent = <T extends AttributionEventType>(
  type: T,
  row: AttributionRow,
  cause: string,
): NewEvent<AttributionEventType> => ({
  tenantId: row.tenantId,
  type,
  cause,
  // The casts hold because rows contain only values of the closed lists.
  data: {
    id: formatId('attr', row.id),
    invocation_id: formatId('inv', row.id),
    provider: providerName(row.provider),
    served_model: row.servedModel,
    service: row.service,
    owner: row.owner,
    cost_usd: formatQuantity(row.costUsd),
    energy_wh: formatQuantity(row.energyWh),
    carbon_gco2e: formatQuantity(row.carbonGco2e),
    cost_basis: row.costBasis as CostBasis,
    cost_bound: row.costBound === '' ? null : (row.costBound as CostBound),
    energy_basis: row.energyBasis as FootprintBasis,
    carbon_basis: row.carbonBasis as FootprintBasis,
  },
  interpretation: {
    stage_origin: row.stageOrigin as StageOrigin,
    confidence_band: row.confidenceBand as ConfidenceBand,
    degradation_state: row.degradationState as DegradationState,
  },
})

/** That two records show one call: the same two are never merged again, once they were taken apart. */
export const mergedEvent = (
  row: AttributionRow,
  absorbedId: string,
  matchedBy: MatchedBy,
): NewEvent<'attribution.merged'> => {
  const absorbed = Buffer.from(absorbedId, 'hex')
  return {
    tenantId: row.tenantId,
    type: 'attribution.merged',
    cause: mergeId(idHex(row.id), absorbedId),
    data: {
      id: formatId('attr', row.id),
      invocation_id: formatId('inv', row.id),
      merged_id: formatId('attr', absorbed),
      merged_invocation_id: formatId('inv', absorbed),
      matched_by: matchedBy,
    },
  }
}

export interface AnnounceDeps {
  /** Whether the tenant has a subscriber to new attributions. Only then are events published: there is one per call. */
  readonly subscribesToRecords: (tenantId: string) => boolean
  readonly publishEvents: PublishEvents
}

/** Publishes events for stored versions of records. Safe to repeat: the same version is the same event. */
export type Announce = (rows: readonly AttributionRow[]) => Promise<void>

export const announcer =
  ({ subscribesToRecords, publishEvents }: AnnounceDeps): Announce =>
  (rows) => {
    const subscribed = new Map<string, boolean>()
    const announced = rows.filter(({ tenantId }) => {
      const known = subscribed.get(tenantId) ?? subscribesToRecords(tenantId)
      subscribed.set(tenantId, known)
      return known
    })
    return publishEvents(announced.map(materializedEvent))
  }

export const materializedEvent = (row: AttributionRow): NewEvent =>
  attributionEvent('attribution.materialized', row, `${idHex(row.id)}.${row.validFromMs}`)
