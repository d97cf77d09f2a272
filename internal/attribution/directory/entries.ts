import { z } from 'zod'
import type { SourceEntry } from '../../records/capture-source.js'
import { PATHWAY_CATEGORIES } from '../../records/interpretation.js'
import { nameDoubt } from '../../text/misleading-name.js'
import { name } from '../../text/plain-text.js'
import type { IdentityEntry, PrincipalEntry, ServiceEntry } from './directory.js'

/**
 * Schemas of directory entries, for the routes, the import and stage A. `null` in an optional field means absent.
 */

/** Aliases per service. */
export const ALIASES_MAX = 64

/** Entries per tenant and kind. */
export const ENTRIES_MAX = { services: 10_000, identities: 100_000, principals: 10_000, sources: 1_000 } as const

export const DIRECTORY_KINDS = ['services', 'identities', 'principals', 'sources'] as const
export type DirectoryKind = (typeof DIRECTORY_KINDS)[number]

/** API keys, OAuth clients, users and connectors. */
export const CREDENTIAL_PREFIXES = ['key', 'cli', 'usr', 'con'] as const

const credentialId = () =>
  z
    .string()
    .regex(new RegExp(`^(${CREDENTIAL_PREFIXES.join('|')})_[0-9a-hjkmnp-tv-z]{26}$`), 'must be the id of a credential')
    .meta({ examples: ['key_7v3k9q2m4x8n5c1r6t0w3y9zb0'] })

/** A name that looks like another one would take the calls of that service. */
export const serviceName = () =>
  name().refine((text) => nameDoubt(text) === undefined, 'must not contain hidden characters or mix scripts')

export const serviceFields = z.strictObject({
  name: serviceName(),
  owner: name().meta({ description: 'Team or cost centre that owns its cost.' }),
  aliases: z
    .array(serviceName())
    .max(ALIASES_MAX)
    .nullish()
    .meta({ description: 'Other names for the service in events.' }),
})

export const identityFields = z.strictObject({
  name: name().meta({ description: 'The value of `attributed_identity` in events.' }),
  owner: name().nullish().meta({ description: 'Team; owns calls of services that have no owner.' }),
  service: serviceName().nullish().meta({
    description: 'Service of calls that state only the identity; set it if the identity works for one service only.',
  }),
  is_workload: z.boolean().nullish().meta({
    description: 'Whether this is a workload, not a person: reports then need not hide it in a group of at least five.',
  }),
})

export const principalFields = z.strictObject({
  principal_id: credentialId().meta({ description: 'Id of the credential.' }),
  service: serviceName().meta({
    description: 'Service of calls sent with this credential that state neither service nor identity.',
  }),
  exclusive: z
    .boolean()
    .nullish()
    .meta({
      description:
        'Whether the credential belongs to this service alone: all its calls are then attributed to the service, also those ' +
        'that state another one; the record shows the claim.',
    }),
})

export const sourceFields = z.strictObject({
  name: name().meta({ description: 'The value of `ingestion_layer` in events, or of `source` in observations.' }),
  pathway: z.enum(PATHWAY_CATEGORIES).nullish().meta({ description: 'Pathway on which its events are expected.' }),
  is_discovery_only: z.boolean().nullish().meta({
    description:
      'Whether the source only discovers traffic and never captures single calls: invocations from this layer are refused.',
  }),
})

export function serviceEntry({ name: called, owner, aliases }: z.infer<typeof serviceFields>): ServiceEntry {
  const others = [...new Set(aliases)].filter((alias) => alias !== called)
  return { name: called, owner, ...(others.length > 0 && { aliases: others }) }
}

export const identityEntry = (fields: z.infer<typeof identityFields>): IdentityEntry => ({
  name: fields.name,
  ...(fields.owner != null && { owner: fields.owner }),
  ...(fields.service != null && { service: fields.service }),
  ...(fields.is_workload === true && { is_workload: true }),
})

export const sourceEntry = (fields: z.infer<typeof sourceFields>): SourceEntry => ({
  name: fields.name,
  ...(fields.pathway != null && { pathway: fields.pathway }),
  ...(fields.is_discovery_only === true && { is_discovery_only: true }),
})

export const principalEntry = ({
  principal_id: id,
  service,
  exclusive,
}: z.infer<typeof principalFields>): PrincipalEntry => ({
  id,
  service,
  ...(exclusive === true && { exclusive }),
})
