/** An index by tenant of the records of a watched bucket. */
export class ByTenant<T extends { readonly tenant_id: string }> {
  private readonly records = new Map<string, Map<string, T>>()
  private readonly tenants = new Map<string, string>()

  /** Applies a change of the bucket. @param record undefined when it was deleted */
  follow(key: string, record: T | undefined): void {
    const before = this.tenants.get(key)
    if (before !== undefined && before !== record?.tenant_id) this.remove(before, key)
    if (record === undefined) return
    const { tenant_id: tenantId } = record
    this.tenants.set(key, tenantId)
    const ofTenant = this.records.get(tenantId) ?? new Map<string, T>()
    this.records.set(tenantId, ofTenant.set(key, record))
  }

  /** Whose record a key has; undefined if there is none. */
  tenantOf(key: string): string | undefined {
    return this.tenants.get(key)
  }

  /** All records of a tenant, in the order in which they were added; a changed record keeps its position. */
  of(tenantId: string): Iterable<T> {
    return this.records.get(tenantId)?.values() ?? []
  }

  countOf(tenantId: string): number {
    return this.records.get(tenantId)?.size ?? 0
  }

  private remove(tenantId: string, key: string): void {
    this.tenants.delete(key)
    const ofTenant = this.records.get(tenantId)
    ofTenant?.delete(key)
    if (ofTenant?.size === 0) this.records.delete(tenantId)
  }
}
