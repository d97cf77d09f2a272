import type { AttributionRow } from '../records/record-fields.js'
import { type AttributionValue, eachValueOf } from './tables/attribution-values.js'

/** Over all tenants, some tens of megabytes; beyond, all are forgotten and written again when they are met. */
const VALUES_MAX = 200_000

/**
 * The values of records that this process has written to `attribution_values`. Erasure and retention may have removed
 * one since: if a record then has it again, it is written when that record is settled (`settling.ts`).
 */
export class KnownValues {
  private readonly byTenant = new Map<string, Map<AttributionValue['field'], Set<string>>>()
  private count = 0
  private readonly valuesMax: number

  constructor(valuesMax = VALUES_MAX) {
    this.valuesMax = valuesMax
  }

  /** The distinct values of records that are not known. */
  unknownIn(rows: readonly AttributionRow[]): AttributionValue[] {
    const unknown: AttributionValue[] = []
    const met = new KnownValues()
    for (const row of rows) {
      eachValueOf(row, (tenantId, field, value) => {
        if (this.has(tenantId, field, value)) return
        if (met.add(tenantId, field, value)) unknown.push({ tenantId, field, value })
      })
    }
    return unknown
  }

  /** To be called once they are stored. */
  remember(values: readonly AttributionValue[]): void {
    if (this.count + values.length > this.valuesMax) {
      this.byTenant.clear()
      this.count = 0
    }
    for (const { tenantId, field, value } of values) this.add(tenantId, field, value)
  }

  private has(tenantId: string, field: AttributionValue['field'], value: string): boolean {
    return this.byTenant.get(tenantId)?.get(field)?.has(value) === true
  }

  /** @returns whether it was new */
  private add(tenantId: string, field: AttributionValue['field'], value: string): boolean {
    const fields = this.byTenant.get(tenantId) ?? new Map<AttributionValue['field'], Set<string>>()
    this.byTenant.set(tenantId, fields)
    const values = fields.get(field) ?? new Set<string>()
    fields.set(field, values)
    if (values.has(value)) return false
    values.add(value)
    this.count++
    return true
  }
}
