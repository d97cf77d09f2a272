/**
 * Which of the names of a call has the price: that of the model that served it, unless the requested one tells more of
 * the price. Pure.
 */
import type { Invocation } from '../../invocations/invocation.js'
import { canonicalProvider } from '../../records/provider-names.js'
import { type MatchStep, modelNames, statedProviderOf } from '../names/model-names.js'
import { isSameModel } from '../names/same-model.js'
import type { CostFlag } from './cost-details.js'
import type { LookupFailure, PriceBook, PriceLookup } from './price-book.js'
import type { TenantPriceMatch, TenantPrices } from './tenant-prices.js'

export type CallNames = Pick<Invocation, 'provider' | 'servedModel' | 'requestedModel' | 'region'>

export interface PricedName {
  readonly modelFrom: 'served' | 'requested'
  /** How the name that was looked up came about. */
  readonly how: readonly MatchStep[]
  readonly ofTenant: readonly TenantPriceMatch[]
  readonly ofBook: PriceLookup
  readonly flags: readonly CostFlag[]
}

export function pricedName(call: CallNames, book: PriceBook, tenant: TenantPrices | undefined): PricedName {
  const { provider, servedModel, requestedModel, region } = call
  const look = (model: string, modelFrom: PricedName['modelFrom'], among = provider): PricedName => {
    const renamed = tenant?.rename(provider, model)
    const sought = renamed ?? { provider: among, model }
    return {
      modelFrom,
      how: renamed !== undefined ? ['tenant_override'] : among === provider ? [] : ['gateway_prefix'],
      ofTenant: tenant?.find(sought.provider, sought.model, region) ?? [],
      ofBook: book.find(sought.provider, sought.model, region),
      flags: [],
    }
  }
  if (servedModel === undefined || servedModel === requestedModel) {
    return look(requestedModel, servedModel === undefined ? 'requested' : 'served')
  }

  const requested = look(requestedModel, 'requested')
  const among = providerOfServed(provider, servedModel, requestedModel)
  const isOwnProfile = modelNames(provider, requestedModel).isOpaque && isKnownToTenant(requested)
  if (isOwnProfile || isScopeLost(among, servedModel, requestedModel)) {
    return { ...requested, flags: ['profile_of_request'] }
  }
  const served = look(servedModel, 'served', among)
  if (isUnlisted(served) && isPriced(requested)) return { ...requested, flags: ['served_model_unlisted'] }
  return served
}

/** Behind a gateway the requested name may state a provider that the served one does not: `bedrock/…`. */
function providerOfServed(provider: string, servedModel: string, requestedModel: string): string {
  const named = (model: string) => canonicalProvider(statedProviderOf(provider, model))
  return named(servedModel) === undefined ? (named(requestedModel) ?? provider) : provider
}

/** Whether the tenant says itself what its own profile costs or runs: `application-inference-profile/…`. */
const isKnownToTenant = ({ how, ofTenant }: PricedName): boolean =>
  how.includes('tenant_override') || ofTenant.length > 0

/**
 * Whether the served name is the requested one without what decides its price: answers of Bedrock name the model and
 * not
 * the profile (`eu.`), those of Vertex AI not the location, those of OpenRouter not always the variant (`:free`).
 */
function isScopeLost(provider: string, servedModel: string, requestedModel: string): boolean {
  const [served, requested] = [modelNames(provider, servedModel), modelNames(provider, requestedModel)]
  if (served.profile !== undefined || served.region !== undefined || served.isFree) return false
  if (requested.profile === undefined && requested.region === undefined && !requested.isFree) return false
  const asked = requested.isFree ? requestedModel.replace(/:free$/i, '') : requestedModel
  return isSameModel(
    { provider, requestedModel: servedModel, servedModel },
    { provider, requestedModel: asked, servedModel: asked },
  )
}

const isPriced = ({ ofTenant, ofBook }: PricedName): boolean => ofTenant.length > 0 || ofBook.kind === 'entry'

/** Whether no table knows the name. One that a table knows to have no price has none. */
const isUnlisted = ({ ofTenant, ofBook }: PricedName): boolean =>
  ofTenant.length === 0 && ofBook.kind === 'none' && UNLISTED.has(ofBook.reason)

const UNLISTED: ReadonlySet<LookupFailure> = new Set(['unknown_provider', 'unknown_model', 'opaque_profile'])
