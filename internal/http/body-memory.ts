/** Total bytes of request bodies that are being received or processed, over all tenants. */
const BYTES_MAX = 256 * 1024 * 1024

/** Limits the memory of request bodies, in total and per tenant, so that slow uploads leave some for other tenants. */
export class BodyMemory {
  private readonly bytesMax: number
  private heldBytes = 0
  /** Only tenants that hold bytes. */
  private readonly heldBytesOf = new Map<string | null, number>()

  constructor(bytesMax = BYTES_MAX) {
    this.bytesMax = bytesMax
  }

  /** @returns false when all tenants together, or this one, would hold too much */
  hold(bytes: number, tenantId: string | null): boolean {
    const ofTenant = (this.heldBytesOf.get(tenantId) ?? 0) + bytes
    if (this.heldBytes + bytes > this.bytesMax || ofTenant > this.bytesMax / 2) return false
    this.heldBytes += bytes
    if (ofTenant > 0) this.heldBytesOf.set(tenantId, ofTenant)
    return true
  }

  release(bytes: number, tenantId: string | null): void {
    if (bytes === 0) return
    this.heldBytes -= bytes
    const ofTenant = (this.heldBytesOf.get(tenantId) ?? 0) - bytes
    if (ofTenant > 0) this.heldBytesOf.set(tenantId, ofTenant)
    else this.heldBytesOf.delete(tenantId)
  }
}
