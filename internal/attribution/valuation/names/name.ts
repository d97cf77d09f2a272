import { z } from 'zod'
import { idOfName, type TenantIds } from '../../../ids/ids.js'
import { name } from '../../../text/plain-text.js'
import type { TenantModelName } from '../cost/tenant-prices.js'
import { modelNames } from './model-names.js'

/** A name of a tenant's own for a model: an Azure deployment, an inference profile, a gateway's group. */

/** Names that a tenant may have. */
export const NAMES_MAX = 5_000

export const nameFields = z.object({
  provider: name().meta({ description: 'As events state it.' }),
  name: name().meta({ description: 'As events state it in place of a model. As a whole, in either case.' }),
  served_provider: name().nullish().meta({ description: 'Who runs the model, where that is another provider.' }),
  served_model: name().meta({ description: 'The model that it stands for.' }),
})
export type NameFields = z.infer<typeof nameFields>

/** As it is kept, under its id in the bucket `model_names`. */
export interface StoredModelName {
  readonly id: string
  readonly tenant_id: string
  readonly provider: string
  readonly name: string
  readonly served_provider: string
  readonly served_model: string
  readonly created_at: string
}

/** The id comes from what is named, so that one tenant has no two meanings of one name. */
export const storedName = (
  { provider, name: called, served_provider, served_model }: NameFields,
  tenantId: string,
  ids: TenantIds,
  nowMs: number,
): StoredModelName => ({
  id: idOfName('mnm', ids, 'model-names', JSON.stringify([modelNames(provider, called).provider, comparable(called)])),
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
