/**
 * Shares of something of which there is only so much, such as memory for bodies: nobody has more than is left for all
 * others. One who asks alone has half of it, two have a third each, and one who comes later always finds some.
 */
export class Shares {
  private readonly amount: number
  private held = 0
  /** Only of those that hold some. */
  private readonly heldOf = new Map<string, number>()

  constructor(amount: number) {
    this.amount = amount
  }

  /**
   * @param tenantId null: not known yet; these share as one
   * @param principal a credential of the tenant, which has half of what the tenant has
   * @returns false when there is not so much for them
   */
  hold(amount: number, tenantId: string | null, principal?: string): boolean {
    const left = this.amount - this.held - amount
    if (this.of(tenantOf(tenantId)) + amount > left) return false
    if (principal !== undefined && 2 * (this.of(principalOf(tenantId, principal)) + amount) > left) return false
    this.add(amount, tenantId, principal)
    return true
  }

  release(amount: number, tenantId: string | null, principal?: string): void {
    if (amount !== 0) this.add(-amount, tenantId, principal)
  }

  private of(who: string): number {
    return this.heldOf.get(who) ?? 0
  }

  private add(amount: number, tenantId: string | null, principal: string | undefined): void {
    this.held += amount
    this.addTo(tenantOf(tenantId), amount)
    if (principal !== undefined) this.addTo(principalOf(tenantId, principal), amount)
  }

  private addTo(who: string, amount: number): void {
    const held = this.of(who) + amount
    if (held > 0) this.heldOf.set(who, held)
    else this.heldOf.delete(who)
  }
}

const tenantOf = (tenantId: string | null): string => tenantId ?? ''
/** No id has a space. */
const principalOf = (tenantId: string | null, principal: string): string => `${tenantOf(tenantId)} ${principal}`
