import { createHash } from 'node:crypto'
import type { Records } from '../broker/records.js'
import type { MissingPriceReason } from '../records/bases.js'
import { providerName } from '../records/provider-names.js'
import type { UnpricedModel } from '../store/queries/reports/missing-prices.js'
import { type AnnounceDeps, announceOnce } from './announce-findings.js'

export interface PriceReads {
  /** The models with unpriced calls since an instant. */
  readonly models: (tenantId: string, sinceMs: number) => Promise<readonly UnpricedModel[]>
  readonly missing: (
    tenantId: string,
    model: UnpricedModel,
  ) => Promise<{ readonly reason: MissingPriceReason; readonly firstMs: number } | undefined>
}

/** The models announced to a tenant; a value of the bucket `missing_prices`, stored with the name `told`. */
export interface MissingPrices {
  /** Digests of providers and models. */
  readonly told: readonly string[]
}

/** When a sentinel last found that no price could help any call of a model. */
export type Unpriceable = Map<string, number>

/** Calls of this period are looked at. */
export const PERIOD_MS = 30 * 24 * 60 * 60 * 1000
/** Models that are announced to a tenant: a sender that invents names must not flood its receivers. */
export const MODELS_MAX = 1_000
/** Until then a model without a call that a price could help is not looked at again. */
export const CHECKED_AGAIN_MS = 10 * 60 * 1000

/**
 * Emits `price.missing` once for each provider and model whose calls have no price. The rollups select the models, and
 * the records say why.
 *
 * @param unpriceable of this process
 */
export async function watchPrices(
  tenantId: string,
  reads: PriceReads,
  unpriceable: Unpriceable,
  states: Records<MissingPrices>,
  deps: AnnounceDeps,
): Promise<void> {
  const nowMs = deps.clock()
  const models = await reads.models(tenantId, nowMs - PERIOD_MS)
  if (models.length === 0) return
  const { told } = (await states.read(tenantId)) ?? { told: [] }
  const known = new Set(told)
  for (const model of models) {
    const digest = digestOf(model)
    const place = `${tenantId} ${digest}`
    const checkedMs = unpriceable.get(place) ?? Number.NEGATIVE_INFINITY
    if (known.has(digest) || known.size >= MODELS_MAX || nowMs - checkedMs < CHECKED_AGAIN_MS) continue
    const found = await reads.missing(tenantId, model)
    if (found === undefined) {
      if (unpriceable.size >= UNPRICEABLE_MAX) unpriceable.clear()
      unpriceable.set(place, nowMs)
      continue
    }
    await announce(tenantId, model, found, digest, deps)
    known.add(digest)
    await states.createOnce(tenantId, { told: [] })
    await states.change(tenantId, (now) =>
      now.told.includes(digest) || now.told.length >= MODELS_MAX ? undefined : { told: [...now.told, digest] },
    )
  }
}

const UNPRICEABLE_MAX = 100_000

/** However a provider and a model are spelt. */
function digestOf({ provider, servedModel }: UnpricedModel): string {
  const names = JSON.stringify([providerName(provider), servedModel.trim().toLowerCase()])
  return createHash('sha256').update(names).digest('hex').slice(0, 16)
}

async function announce(
  tenantId: string,
  { provider, servedModel }: UnpricedModel,
  { reason, firstMs }: { readonly reason: MissingPriceReason; readonly firstMs: number },
  digest: string,
  deps: AnnounceDeps,
): Promise<void> {
  const data = {
    provider: providerName(provider),
    served_model: servedModel,
    reason,
    first_call_at: new Date(firstMs).toISOString(),
  }
  await announceOnce(
    `${tenantId}.price.${digest}`,
    async () => ({ tenantId, type: 'price.missing', cause: digest, data }),
    deps,
  )
}
