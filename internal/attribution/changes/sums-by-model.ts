import { providerName } from '../../records/provider-names.js'
import type { AttributionRow } from '../../store/tables/attributions.js'

export interface Model {
  readonly provider: string
  readonly servedModel: string
}

/** Sums over records, by provider and model. */
export class SumsByModel<Sums extends object> {
  private readonly models = new Map<string, Model & Sums>()
  private readonly nothing: Sums

  constructor(nothing: Sums) {
    this.nothing = nothing
  }

  add(row: Pick<AttributionRow, 'provider' | 'servedModel'>, plusRow: (sums: Sums) => Sums): void {
    const model = { provider: providerName(row.provider), servedModel: row.servedModel }
    const key = JSON.stringify(model)
    this.models.set(key, { ...model, ...plusRow(this.models.get(key) ?? this.nothing) })
  }

  largestFirst(sizeOf: (sums: Sums) => bigint): readonly (Model & Sums)[] {
    const order = (one: Model & Sums, other: Model & Sums): number =>
      Number(sizeOf(other) > sizeOf(one)) - Number(sizeOf(other) < sizeOf(one)) ||
      (`${one.provider} ${one.servedModel}` < `${other.provider} ${other.servedModel}` ? -1 : 1)
    return [...this.models.values()].sort(order)
  }
}

export const distance = (one: bigint, other: bigint): bigint => (one > other ? one - other : other - one)
