/**
 * The electricity grid that a call ran in, and its emissions per kWh.
 *
 * Yearly averages of generation, life-cycle, location-based (Our World in Data / Ember through EcoLogits 0.11.3), on
 * the same basis for all zones. Clean-energy purchases are not counted; a tenant that wants them sets its own factors.
 */

/** `grid.data.json`. gCO2e per kWh, decimal strings; zones are ISO 3166-1 alpha-3, WOR the world, EEE Europe. */
export interface GridFile {
  readonly as_of: string
  readonly default_zone: string
  readonly zones: Readonly<Record<string, { readonly g: string; readonly g_2024?: string }>>
  /** Geographies of inference profiles and data zones; null for a geography with several grids. */
  readonly geography: Readonly<Record<string, string | null>>
  readonly regions: readonly { readonly region: string; readonly zone: string }[]
}

/** Zone and emission factors set by a tenant. They take precedence over the table. */
export interface TenantGrid {
  /** Zone of events without a region. */
  readonly zone?: string | undefined
  readonly factors?: readonly TenantGridFactor[] | undefined
}

export interface TenantGridFactor {
  readonly zone: string
  /** gCO2e per kWh, plain decimal. */
  readonly gramsPerKwh: string
  /** Source of the factor; shown in the explanation. */
  readonly source: string
  /** RFC 3339; `to` is exclusive. A factor without dates always applies. */
  readonly from?: string | undefined
  readonly to?: string | undefined
}

const ZONE_ORIGINS = ['event_region', 'tenant', 'model_id', 'operator_default', 'world'] as const
export type ZoneOrigin = (typeof ZONE_ORIGINS)[number]

export interface ZoneChoice {
  /** Undefined when the event's place is not in the table, so that the factor is unknown. */
  readonly zone: string | undefined
  readonly from: ZoneOrigin
  /** Whether the event's geography has several grids (`apac`), so that the operator's default zone is used. */
  readonly hasNoSingleGrid: boolean
}

export interface GridFactor {
  readonly gramsPerKwh: string
  /** Edition: `2024`, `newest` (the table's newest year), or `tenant`. */
  readonly table: '2024' | 'newest' | 'tenant'
  readonly source: string | undefined
  readonly note: 'grid_year_before_table' | 'grid_newest_year_used' | undefined
}

export interface Grid {
  readonly asOf: string
  choose(stated: StatedPlace, operatorZone: string, tenant: TenantGrid | undefined): ZoneChoice
  factor(zone: string, edition: GridEdition): GridFactor | undefined
}

export interface StatedPlace {
  readonly region: string | undefined
  /** Region or profile inside the model id. */
  readonly inModelId: string | undefined
}

/** Selects one of the two yearly tables by the year (UTC) of an event. */
export const GRID_EDITIONS = ['before_2024', '2024_2025', 'newest'] as const
export type GridEdition = (typeof GRID_EDITIONS)[number]

const YEAR_2024_MS = Date.UTC(2024, 0)
const YEAR_2026_MS = Date.UTC(2026, 0)

/** The 2024 table applies to events of 2024 and 2025, and is the nearest one for older events. */
export function gridEdition(eventTimeMs: number): GridEdition {
  if (eventTimeMs >= YEAR_2026_MS) return 'newest'
  return eventTimeMs >= YEAR_2024_MS ? '2024_2025' : 'before_2024'
}

export function grid(file: GridFile): Grid {
  const zoneByRegion = new Map(file.regions.map(({ region, zone }) => [region.toLowerCase(), zone]))

  /** null: a geography with several grids; undefined: an unknown place. */
  const zoneOf = (place: string, tenant: TenantGrid | undefined): string | null | undefined => {
    const name = place.trim().toLowerCase()
    const zone = zoneByRegion.get(name)
    if (zone !== undefined) return zone
    if (Object.hasOwn(file.geography, name)) return file.geography[name]
    if (name === 'global-standard') return file.default_zone
    const code = name.toUpperCase()
    // A zone with a tenant's own factor is valid, even if the table lacks it.
    const isZone = Object.hasOwn(file.zones, code) || tenant?.factors?.some((factor) => factor.zone === code) === true
    return isZone ? code : undefined
  }

  return {
    asOf: file.as_of,
    choose({ region, inModelId }, operatorZone, tenant) {
      const stated = [
        [region, 'event_region'],
        [tenant?.zone, 'tenant'],
        [inModelId, 'model_id'],
      ] as const
      const byDefault = operatorZone === file.default_zone ? 'world' : 'operator_default'
      for (const [place, from] of stated) {
        if (place === undefined || place.trim() === '') continue
        const zone = zoneOf(place, tenant)
        if (zone === null) return { zone: operatorZone, from: byDefault, hasNoSingleGrid: true }
        return { zone, from, hasNoSingleGrid: false }
      }
      return { zone: operatorZone, from: byDefault, hasNoSingleGrid: false }
    },
    factor(zone, edition) {
      const row = Object.hasOwn(file.zones, zone) ? file.zones[zone] : undefined
      if (row === undefined) return undefined
      if (edition === 'newest') return { gramsPerKwh: row.g, table: 'newest', source: undefined, note: undefined }
      if (row.g_2024 === undefined) {
        return { gramsPerKwh: row.g, table: 'newest', source: undefined, note: 'grid_newest_year_used' }
      }
      const note = edition === 'before_2024' ? 'grid_year_before_table' : undefined
      return { gramsPerKwh: row.g_2024, table: '2024', source: undefined, note }
    },
  }
}

/** Index in `factors` of the tenant's factor for a zone at a time, with the latest start; -1 when there is none. */
export function tenantFactorAt(tenant: TenantGrid | undefined, zone: string | undefined, timeMs: number): number {
  let found = -1
  let foundFromMs = Number.NEGATIVE_INFINITY
  const factors = tenant?.factors ?? []
  for (const [at, { zone: of, from, to }] of factors.entries()) {
    if (of !== zone) continue
    const fromMs = from === undefined ? Number.NEGATIVE_INFINITY : Date.parse(from)
    const toMs = to === undefined ? Number.POSITIVE_INFINITY : Date.parse(to)
    if (timeMs < fromMs || timeMs >= toMs || fromMs < foundFromMs) continue
    found = at
    foundFromMs = fromMs
  }
  return found
}
