import { createHash } from 'node:crypto'
import type { CohortScope } from '../auth/tenant.js'
import type { StagedTotals } from '../store/queries/exports/staged-groups.js'
import type { Manifest } from './export-contract.js'
import { showFilters, suppressedOf } from './export-filters.js'
import type { StoredFile } from './export-job.js'
import { DAY_MS, type ExportRequest, startOfDay } from './export-request.js'
import { columnsOf, type FocusColumn, LEFT_OUT_FIELDS } from './focus/columns.js'
import type { PeriodTotals } from './totals.js'

/** The inputs of a manifest. */
export interface ManifestFacts {
  readonly jobId: string
  readonly tenantId: string
  readonly tenantName: string
  readonly request: ExportRequest
  readonly asOfMs: number
  readonly k: number
  readonly cohortScope: CohortScope
  readonly filtersApplied: number
  readonly createdAtMs: number
  readonly file: StoredFile
  /** Of the records. */
  readonly recordTotals: PeriodTotals
  /** Of the file. */
  readonly totals: StagedTotals
}

export function manifestOf(facts: ManifestFacts): Manifest {
  const { jobId, tenantId, request, asOfMs, file, recordTotals, totals } = facts
  const { period, group_by, file_format, filters = [] } = request
  const suppressed = suppressedOf(filters, facts.filtersApplied)
  return {
    ...(suppressed && { suppressed }),
    job_id: jobId,
    tenant_id: tenantId,
    created_at: new Date(facts.createdAtMs).toISOString(),
    as_of: new Date(asOfMs).toISOString(),
    period: { ...period, is_complete: startOfDay(period.to) + DAY_MS <= asOfMs },
    group_by: [...group_by],
    filters: showFilters(filters),
    widened_filters: [...new Set(filters.slice(facts.filtersApplied).map(({ field }) => field))],
    scope: suppressed === undefined ? 'requested' : 'parent',
    file: {
      name: file.name,
      format: file_format,
      compression: file_format === 'csv' ? 'gzip' : 'none',
      media_type: file.media_type,
      bytes: file.bytes,
      sha256: file.sha256,
      rows: totals.rows,
    },
    totals: {
      billed_cost: totals.cost,
      effective_cost: totals.cost,
      list_cost: totals.cost,
      contracted_cost: totals.cost,
      energy_wh: totals.energyWh,
      energy_is_lower_bound: totals.energyKnown !== totals.invocations,
      energy_has_class_estimates: totals.energyEstimated !== '0',
      carbon_gco2e: totals.carbonGco2e,
      carbon_is_lower_bound: totals.carbonKnown !== totals.invocations,
      invocations: Number(totals.invocations),
    },
    exported: recordTotals.exported,
    left_out: [...recordTotals.leftOut],
    everything: recordTotals.everything,
    cohorts: {
      k: facts.k,
      scope: facts.cohortScope,
      groups_folded: totals.foldedGroups,
      rows_of_folded_groups: totals.foldedRows,
    },
    delivery: { mode: 'Overwrite', correction: 'Replacement', scope: `${period.from} to ${period.to}` },
    fields_left_out: Object.fromEntries(
      LEFT_OUT_FIELDS.filter(([field]) => !group_by.some((grouping) => grouping === field)),
    ),
    focus: focusMetadata(facts),
  }
}

const GENERATOR = 'Attribution Service'

/** FOCUS metadata of the file (FOCUS 1.4, metadata). */
function focusMetadata({ tenantId, tenantName, request, asOfMs, createdAtMs }: ManifestFacts): Record<string, unknown> {
  const { columns, focus_version: version, period } = request
  const definitions = columnsOf(version).filter(({ name }) => columns.includes(name))
  const instanceId = guidOf(`dataset ${tenantId}`)
  const updated = focusTime(asOfMs)
  return {
    DataGenerator: { DataGenerator: GENERATOR },
    DatasetInstance: [
      {
        DatasetInstanceId: instanceId,
        DatasetInstanceName: `Chargeback of ${tenantName}`,
        FocusDatasetId: 'CostAndUsage',
      },
    ],
    Schema: [
      {
        SchemaId: guidOf(JSON.stringify([version, definitions])),
        DatasetInstanceId: instanceId,
        FocusVersion: version,
        CreationDate: focusTime(createdAtMs),
        ColumnDefinition: definitions.map(definitionOf),
      },
    ],
    Recency: [
      {
        DatasetInstanceId: instanceId,
        RecencyLastUpdated: updated,
        DatasetInstanceLastUpdated: updated,
        TimeSectors: [
          {
            TimeSectorStart: focusTime(startOfDay(period.from)),
            TimeSectorEnd: focusTime(startOfDay(period.to) + DAY_MS),
            TimeSectorComplete: startOfDay(period.to) + DAY_MS <= asOfMs,
            TimeSectorLastUpdated: updated,
          },
        ],
      },
    ],
  }
}

/** FOCUS date/time format: UTC, without fractions of a second (FOCUS 1.4). */
const focusTime = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`

const DATA_TYPES = {
  string: 'STRING',
  decimal: 'DECIMAL',
  datetime: 'DATETIME',
  json: 'JSON',
  boolean: 'BOOLEAN',
} as const

const definitionOf = ({ name, type, description }: FocusColumn) => ({
  ColumnName: name,
  DataType: DATA_TYPES[type],
  ...(type === 'decimal' && { NumericPrecision: 38, NumberScale: scaleOf(name) }),
  ...((type === 'string' || type === 'json') && { StringMaxLength: TEXT_CHARACTERS_MAX, StringEncoding: 'UTF-8' }),
  // Tags come from the records only; there are no provider tags.
  ...(name === 'Tags' && { ProviderTagPrefixes: [] }),
  ...(description !== undefined && { Description: description }),
})

/** Names are limited to 256 bytes, and no text combines more than four of them. */
const TEXT_CHARACTERS_MAX = 2_048
const SCALES: Readonly<Record<string, number>> = {
  // Millionths of seconds, pages, ...
  ConsumedQuantity: 6,
  x_InputTokenCount: 0,
  x_InvocationCount: 0,
  x_MinimumConfidence: 4,
  x_OutputTokenCount: 0,
}
const scaleOf = (name: string): number => SCALES[name] ?? 18

/** A GUID derived from the text it identifies (RFC 9562, version 8). */
function guidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
