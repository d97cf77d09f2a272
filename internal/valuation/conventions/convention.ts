import { z } from 'zod'
import { idOfName, type TenantIds } from '../../ids/ids.js'
import { providerName } from '../../records/provider-names.js'
import { instant, name } from '../../text/plain-text.js'
import { parseInstant } from '../../units/instant.js'

/** What the counts of a sender mean that nothing else tells: chosen by a tenant, for a time. */

/** Conventions per tenant. */
export const CONVENTIONS_MAX = 1_000

export const PLACES = ['inside', 'apart'] as const
export type Place = (typeof PLACES)[number]

export const conventionFields = z
  .strictObject({
    sender: name().meta({
      description:
        'Name of the instrumentation scope, as `explanation.source.instrumentation` of a record shows it; of calls ' +
        'without one their intake, such as `litellm` or `api`. Matched as a whole, ignoring case.',
    }),
    provider: name().nullish().meta({ description: 'Only for calls of this provider. Default: of any.' }),
    cache: z
      .enum(PLACES)
      .nullish()
      .meta({
        description:
          'Whether the input that the sender states includes the tokens of the cache. Of two readings, `inside` takes ' +
          'the smaller input, `apart` the larger. Default: undecided.',
      }),
    reasoning: z
      .enum(PLACES)
      .nullish()
      .meta({ description: 'Whether its output includes the reasoning, likewise. Default: undecided.' }),
    valid_from: instant().meta({ description: 'By the time of the call.' }),
    valid_to: instant().nullish().meta({ description: 'End of the period, exclusive. Default: no end.' }),
  })
  .superRefine(({ cache, reasoning, valid_from: from, valid_to: to }, context) => {
    const refuse = (path: string, message: string): void => context.addIssue({ code: 'custom', path: [path], message })
    if (cache == null && reasoning == null) refuse('cache', 'must be given, or reasoning')
    if (to != null && msOf(to) <= msOf(from)) refuse('valid_to', 'must be later than valid_from')
  })
export type ConventionFields = z.infer<typeof conventionFields>

/** A convention in the bucket `usage_conventions`, under its id. */
export interface StoredConvention {
  readonly id: string
  readonly tenant_id: string
  readonly sender: string
  readonly provider: string | null
  readonly cache: Place | null
  readonly reasoning: Place | null
  readonly valid_from: string
  readonly valid_to: string | null
  readonly created_at: string
}

/** The id derives from sender, provider and start, so that a tenant cannot choose two for the same. */
export function storedConvention(
  fields: ConventionFields,
  tenantId: string,
  ids: TenantIds,
  nowMs: number,
): StoredConvention {
  const { sender, provider = null, cache = null, reasoning = null, valid_from: from, valid_to: to } = fields
  const key = [comparableSender(sender), provider === null ? '' : providerName(provider), msOf(from)]
  return {
    id: idOfName('ucv', ids, 'usage-conventions', JSON.stringify(key)),
    tenant_id: tenantId,
    sender,
    provider,
    cache,
    reasoning,
    valid_from: new Date(msOf(from)).toISOString(),
    valid_to: to == null ? null : new Date(msOf(to)).toISOString(),
    created_at: new Date(nowMs).toISOString(),
  }
}

export const comparableSender = (text: string): string => text.trim().toLowerCase()

/** Of an instant that was checked when it was stated. */
export const msOf = (text: string): number => parseInstant(text) ?? 0
