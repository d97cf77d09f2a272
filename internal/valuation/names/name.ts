import { z } from 'zod'
import { idOfName, type TenantIds } from '../../ids/ids.js'
import { name } from '../../text/plain-text.js'
import type { TenantModelName } from '../cost/tenant-prices.js'
import { statedProviderOf } from './model-names.js'

/** A tenant's own name for a model: an Azure deployment, an inference profile, a gateway group. */

/** Names per tenant. */
export const NAMES_MAX = 5_000

export const nameFields = z.strictObject({
  provider: name().meta({ description: 'Provider as stated in events.' }),
  name: name().meta({ description: 'Model name as stated in events; matched exactly, ignoring case.' }),
  served_provider: name().nullish().meta({ description: 'Provider that runs the model. Default: `provider`.' }),
  served_model: name().meta({ description: 'The model behind the name.' }),
})
export type NameFields = z.infer<typeof nameFields>

/** A model name in the bucket `model_names`, under its id. */
export interface StoredModelName {
  readonly id: string
  readonly tenant_id: string
  readonly provider: string
  readonly name: string
  readonly served_provider: string
  readonly served_model: string
  readonly created_at: string
}

/** The id derives from provider and name, so that a name maps to only one model per tenant. */
export const storedName = (
  { provider, name: called, served_provider, served_model }: NameFields,
  tenantId: string,
  ids: TenantIds,
  nowMs: number,
): StoredModelName => ({
  id: idOfName('mnm', ids, 'model-names', JSON.stringify([statedProviderOf(provider, called), comparable(called)])),
  tenant_id: tenantId,
  provider,
  name: called,
  served_provider: served_provider ?? provider,
  served_model,
  created_at: new Date(nowMs).toISOString(),
})

const comparable = (text: string): string => text.trim().toLowerCase()

export const tenantModelName = (stored: StoredModelName): TenantModelName => ({
  provider: stored.provider,
  model: stored.name,
  servedBy: { provider: stored.served_provider, model: stored.served_model },
})
