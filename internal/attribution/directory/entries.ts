import { z } from 'zod'
import type { SourceEntry } from '../../records/capture-source.js'
import { PATHWAY_CATEGORIES } from '../../records/interpretation.js'
import { name } from '../../text/plain-text.js'
import type { IdentityEntry, PrincipalEntry, ServiceEntry } from './directory.js'

/**
 * What may stand in a directory. The routes and the import take entries by these schemas, and stage A reads nothing
 * else. A `null` in an optional field is the same as absent.
 */

/** Other names of one service. */
export const ALIASES_MAX = 64

/** Entries of a kind that a tenant may have. */
export const ENTRIES_MAX = { services: 10_000, identities: 100_000, principals: 10_000, sources: 1_000 } as const

export const DIRECTORY_KINDS = ['services', 'identities', 'principals', 'sources'] as const
export type DirectoryKind = (typeof DIRECTORY_KINDS)[number]

/** An API key, an OAuth client, a person, or a connector. */
export const CREDENTIAL_PREFIXES = ['key', 'cli', 'usr', 'con'] as const

const credentialId = () =>
  z
    .string()
    .regex(new RegExp(`^(${CREDENTIAL_PREFIXES.join('|')})_[0-9a-hjkmnp-tv-z]{26}$`), 'must be the id of a credential')
    .meta({ examples: ['key_7v3k9q2m4x8n5c1r6t0w3y9zb0'] })

export const serviceFields = z.object({
  name: name(),
  owner: name().meta({ description: 'Who answers for its cost: a team, a cost centre.' }),
  aliases: z.array(name()).max(ALIASES_MAX).nullish().meta({ description: 'Other names under which events state it.' }),
})

export const identityFields = z.object({
  name: name().meta({ description: 'As events state it in `attributed_identity`.' }),
  owner: name().nullish().meta({ description: 'Team; owns calls of services that have no owner.' }),
  service: name().nullish().meta({ description: 'Where it works for one only: calls that state just the identity.' }),
  is_workload: z.boolean().nullish().meta({
    description: 'Whether it runs by itself and is no person: reports then need not hide it among four others.',
  }),
})

export const principalFields = z.object({
  principal_id: credentialId().meta({ description: 'The credential.' }),
  service: name().meta({ description: 'Of calls that come by it and state neither service nor identity.' }),
})

export const sourceFields = z.object({
  name: name().meta({ description: 'As events state it: in `ingestion_layer`, or in `source` of an observation.' }),
  pathway: z.enum(PATHWAY_CATEGORIES).nullish().meta({ description: 'On which its events are expected.' }),
  is_discovery_only: z.boolean().nullish().meta({
    description:
      'Whether it only discovers traffic and never sees single calls: invocations of this layer are refused.',
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

export const principalEntry = ({ principal_id: id, service }: z.infer<typeof principalFields>): PrincipalEntry => ({
  id,
  service,
})
