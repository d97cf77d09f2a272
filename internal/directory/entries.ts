import { z } from 'zod'
import type { SourceEntry } from '../records/capture-source.js'
import { PATHWAY_CATEGORIES } from '../records/interpretation.js'
import { nameDoubt } from '../text/misleading-name.js'
import { instant, name } from '../text/plain-text.js'
import { instantOf, type ServiceChange } from './dated-changes.js'
import type { IdentityEntry, PrincipalEntry, ServiceEntry } from './directory.js'

/**
 * Schemas of directory entries, for the routes, the import and the facts stage. `null` in an optional field means
 * absent.
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

/** Changes per service. */
const CHANGES_MAX = 64

const change = z
  .strictObject({
    from: instant().meta({ description: 'Calls made at or after this time show the change.' }),
    owner: name().nullish().meta({ description: 'Its owner since then.' }),
    name: serviceName().nullish().meta({
      description: 'Its name since then. Calls may state it, and the names before, at any time.',
    }),
    merged_into: serviceName()
      .nullish()
      .meta({ description: 'Another service of the directory that it is part of since then; the last change, alone.' }),
  })
  .refine(
    ({ owner, name: called, merged_into: into }) =>
      into == null ? (owner ?? called) != null : owner == null && called == null,
    'must state owner or name, or merged_into alone',
  )
  .meta({ id: 'NewServiceChange' })

export const serviceFields = z.strictObject({
  name: serviceName().meta({ description: 'Before its first change. The entry keeps this name.' }),
  owner: name().meta({ description: 'Team or cost centre that owns its cost; before its first change of owner.' }),
  aliases: z
    .array(serviceName())
    .max(ALIASES_MAX)
    .nullish()
    .meta({ description: 'Other names for the service in events.' }),
  changes: z
    .array(change)
    .max(CHANGES_MAX)
    .nullish()
    .superRefine((changes, context) => {
      const inOrder = (changes ?? [])
        .map((one, i) => ({ ...one, i }))
        .sort((one, other) => instantOf(one) - instantOf(other))
      inOrder.forEach(({ i, merged_into: into, ...one }, at) => {
        const next = inOrder[at + 1]
        if (next !== undefined && instantOf(one) === instantOf(next)) {
          context.addIssue({
            code: 'custom',
            path: [next.i, 'from'],
            message: 'must be another time than that of another change',
          })
        }
        if (next !== undefined && into != null) {
          context.addIssue({ code: 'custom', path: [i, 'merged_into'], message: 'must be the last change' })
        }
      })
    })
    .meta({
      description:
        'What changes from a time on: its name, its owner, or the service that it is part of. Calls are attributed ' +
        'by what was true when they were made. Replaces all earlier changes.',
    }),
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
        'Whether the credential belongs to this service alone: all its calls are then attributed to the service, ' +
        'also those that state another one; the record shows the claim.',
    }),
})

export const sourceFields = z.strictObject({
  name: name().meta({ description: 'The value of `ingestion_layer` in events, or of `source` in observations.' }),
  pathway: z.enum(PATHWAY_CATEGORIES).nullish().meta({ description: 'Pathway on which its events are expected.' }),
  is_discovery_only: z
    .boolean()
    .nullish()
    .meta({
      description:
        'Whether the source only discovers traffic and never captures single calls: invocations from this layer are ' +
        'refused.',
    }),
})

type StatedService = Omit<z.infer<typeof serviceFields>, 'changes'> & {
  readonly changes?: readonly (z.infer<typeof change> | ServiceChange)[] | null | undefined
}

export function serviceEntry({ name: called, owner, aliases, changes }: StatedService): ServiceEntry {
  const others = [...new Set(aliases)].filter((alias) => alias !== called)
  const dated = (changes ?? []).map(serviceChange).sort((one, other) => instantOf(one) - instantOf(other))
  return {
    name: called,
    owner,
    ...(others.length > 0 && { aliases: others }),
    ...(dated.length > 0 && { changes: dated }),
  }
}

const serviceChange = (stated: z.infer<typeof change> | ServiceChange): ServiceChange => ({
  from: stated.from,
  ...(stated.owner != null && { owner: stated.owner }),
  ...(stated.name != null && { name: stated.name }),
  ...(stated.merged_into != null && { merged_into: stated.merged_into }),
  ...('stated_at' in stated && stated.stated_at !== undefined && { stated_at: stated.stated_at }),
})

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
