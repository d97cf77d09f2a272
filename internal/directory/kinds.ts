import { z } from 'zod'
import { invalid } from '../http/mutations/read-body.js'
import { refusalOfId } from '../http/resource/own-id.js'
import type { ResourceContract } from '../http/resource/resource-operations.js'
import type { TenantIds } from '../ids/ids.js'
import { type ErrorCode, type Problem, problem } from '../problems/problem-catalogue.js'
import { PATHWAY_CATEGORIES } from '../records/interpretation.js'
import { exampleId, idOf, timeText } from '../text/answer-fields.js'
import type { CanonicalValue } from '../text/canonical-json.js'
import { backdated, periodAt, periodsOf, stated } from './dated-changes.js'
import { type Directory, namesOf, type PrincipalEntry, type ServiceEntry } from './directory.js'
import {
  CREDENTIAL_PREFIXES,
  type DirectoryKind,
  identityEntry,
  identityFields,
  principalEntry,
  principalFields,
  serviceEntry,
  serviceFields,
  sourceEntry,
  sourceFields,
} from './entries.js'
import type { EntriesOf } from './entry-index.js'

/** What `refuse` checks an entry against. */
export interface Known {
  readonly directory: Directory
  /** Whether a cost pool of the tenant has this name. */
  readonly isPool: (tenantId: string, name: string) => boolean
  readonly idsOf: (tenantId: string) => TenantIds
}

/** One kind of directory entry: its contract and its rules. */
export interface EntryKind<K extends DirectoryKind, Fields, Changes>
  extends Pick<ResourceContract<Fields, Changes>, 'word' | 'plural' | 'record' | 'fields' | 'example'> {
  readonly kind: K
  readonly description: string
  /** The field that identifies an entry among those of its kind; it never changes. */
  readonly nameField: 'name' | 'principal_id'
  readonly changes: z.ZodType<Changes>
  nameOf(entry: EntriesOf[K]): string
  make(fields: Fields): EntriesOf[K]
  change(entry: EntriesOf[K], changes: Changes): EntriesOf[K]
  /** @param nowMs what is dated is shown as of then, too */
  show(id: string, entry: EntriesOf[K], nowMs: number): object
  /** An entry that was made or changed, with the time at which that was stated. @param before undefined: it is new */
  readonly stamp?: (entry: EntriesOf[K], before: EntriesOf[K] | undefined, nowMs: number) => EntriesOf[K]
  /** For the audit log, which is never erased: people appear in it by id only. */
  audited(entry: EntriesOf[K]): CanonicalValue
  /** Why the entry conflicts with the tenant's other entries, or belongs to another tenant. */
  refuse(tenantId: string, entry: EntriesOf[K], known: Known): Problem | undefined
  /** Error codes of `refuse`, beside CONFLICT. */
  readonly refusals: readonly ErrorCode[]
}

// Strict, so that an attempt to rename an entry gets a 422.
const serviceChanges = serviceFields.omit({ name: true }).partial({ owner: true }).strict()
const identityChanges = identityFields.omit({ name: true }).strict()
const sourceChanges = sourceFields.omit({ name: true }).strict()
const principalChanges = principalFields.omit({ principal_id: true }).partial().strict()

const SERVICE = { name: 'support-chat', owner: 'team-support', aliases: ['helpdesk-bot'] }
const CHANGE = { from: '2027-01-01T00:00:00.000Z', owner: 'team-care' }

const shownChange = z.object({
  from: timeText(),
  owner: z.string().nullable(),
  name: z.string().nullable(),
  merged_into: z.string().nullable(),
  reattribution: z
    .object({ from: timeText(), to: timeText() })
    .nullable()
    .meta({
      description:
        'The change was stated after its own time. Calls of this period were attributed without it, and stay so ' +
        'until the period is re-attributed. Null: stated ahead.',
    }),
})

export const SERVICES: EntryKind<'services', z.infer<typeof serviceFields>, z.infer<typeof serviceChanges>> = {
  kind: 'services',
  word: 'Service',
  plural: 'Services',
  description:
    'A service that calls models, and its owner. Events that state one of its aliases are attributed to it. Names ' +
    'and aliases are compared trimmed, in NFC and without case; they are unique across services and cost pools.',
  nameField: 'name',
  fields: serviceFields,
  changes: serviceChanges,
  record: z
    .object({
      id: idOf('svc'),
      name: z.string(),
      owner: z.string(),
      aliases: z.array(z.string()),
      changes: z.array(shownChange),
      now: z
        .object({ name: z.string(), owner: z.string(), merged_into: z.string().nullable() })
        .meta({ description: 'After the changes so far.' }),
    })
    .meta({ id: 'DirectoryService' }),
  example: {
    fields: SERVICE,
    changes: { changes: [CHANGE] },
    record: {
      id: exampleId('svc'),
      ...SERVICE,
      changes: [{ ...CHANGE, name: null, merged_into: null, reattribution: null }],
      now: { name: SERVICE.name, owner: SERVICE.owner, merged_into: null },
    },
  },
  nameOf: ({ name }) => name,
  make: serviceEntry,
  change: (entry, changes) =>
    serviceEntry({
      name: entry.name,
      owner: changes.owner ?? entry.owner,
      aliases: changes.aliases === undefined ? [...(entry.aliases ?? [])] : changes.aliases,
      changes: changes.changes === undefined ? entry.changes : changes.changes,
    }),
  show: showService,
  stamp: (entry, before, nowMs) =>
    entry.changes === undefined ? entry : { ...entry, changes: stated(entry.changes, before?.changes ?? [], nowMs) },
  audited: ({ name, owner, aliases, changes = [] }) => ({
    name,
    owner,
    aliases,
    ...(changes.length > 0 && { changes: changes.map((change) => ({ ...change })) }),
  }),
  refuse: (tenantId, entry, known) =>
    refuseClaimed(tenantId, entry, known) ?? refuseMerge(tenantId, entry, known.directory),
  refusals: [],
}

function showService(id: string, { name, owner, aliases = [], changes = [] }: ServiceEntry, nowMs: number) {
  const period = periodAt(periodsOf({ name, owner }, changes), nowMs)
  return {
    id,
    name,
    owner,
    aliases,
    changes: changes.map((change) => ({
      from: change.from,
      owner: change.owner ?? null,
      name: change.name ?? null,
      merged_into: change.merged_into ?? null,
      reattribution: backdated(change) ?? null,
    })),
    now: { ...(period?.service ?? { name, owner }), merged_into: period?.mergedInto ?? null },
  }
}

/** A service is merged into one that exists, and that is not merged into this one, through whichever others. */
function refuseMerge(tenantId: string, entry: ServiceEntry, directory: Directory): Problem | undefined {
  let into = mergedInto(entry)
  for (const met = new Set([entry.name]); into !== undefined; ) {
    const service = directory.serviceEntry(tenantId, into)
    if (service === undefined) {
      return met.size > 1 ? undefined : problem('CONFLICT', 'The service to merge into is not in the directory.')
    }
    if (met.has(service.name)) return problem('CONFLICT', 'The service would be merged into itself.')
    met.add(service.name)
    into = mergedInto(service)
  }
  return undefined
}

const mergedInto = ({ changes }: ServiceEntry): string | undefined => changes?.at(-1)?.merged_into

/** If two services claimed the same name, one of them could never be found by it. */
export function refuseClaimed(
  tenantId: string,
  entry: ServiceEntry,
  { directory, isPool }: Known,
): Problem | undefined {
  if (namesOf(entry).some((each) => isPool(tenantId, each))) {
    return problem('CONFLICT', 'The name or an alias is that of a cost pool.')
  }
  const isClaimed = namesOf(entry).some((each) => {
    const found = directory.serviceEntry(tenantId, each)
    return found !== undefined && found.name !== entry.name
  })
  return isClaimed ? problem('CONFLICT', 'The name or an alias belongs to another service.') : undefined
}

const IDENTITY = { name: 'ada@example.com', owner: 'team-support', service: 'support-chat' }

export const IDENTITIES: EntryKind<'identities', z.infer<typeof identityFields>, z.infer<typeof identityChanges>> = {
  kind: 'identities',
  word: 'Identity',
  plural: 'Identities',
  description: 'A person or workload that makes calls: its team, and its service if there is only one.',
  nameField: 'name',
  fields: identityFields,
  changes: identityChanges,
  record: z
    .object({
      id: idOf('idn'),
      name: z.string(),
      owner: z.string().nullable(),
      service: z.string().nullable(),
      is_workload: z.boolean(),
      is_active: z
        .boolean()
        .meta({ description: 'False: SCIM says that it has left. Its calls are still attributed.' }),
    })
    .meta({ id: 'DirectoryIdentity' }),
  example: {
    fields: IDENTITY,
    changes: { service: null },
    record: { id: exampleId('idn'), ...IDENTITY, is_workload: false, is_active: true },
  },
  nameOf: ({ name }) => name,
  make: identityEntry,
  change: (entry, changes) => identityEntry({ ...entry, ...changes }),
  // What SCIM says of it is not stated here.
  stamp: (entry, before) => ({
    ...entry,
    ...(before?.inactive && { inactive: before.inactive }),
    ...(before?.groups && { groups: before.groups }),
    ...(before?.external_id && { external_id: before.external_id }),
    ...(before?.renamed && { renamed: before.renamed }),
    ...(before?.active_removed && { active_removed: before.active_removed }),
  }),
  show: (id, { name, owner = null, service = null, is_workload = false, inactive = false }) => ({
    id,
    name,
    owner,
    service,
    is_workload,
    is_active: !inactive,
  }),
  audited: ({ owner, service, is_workload }) => ({ owner, service, is_workload }),
  refuse: () => undefined,
  refusals: [],
}

const SOURCE = { name: 'egress-firewall', pathway: 'proxy_mediated', is_discovery_only: true } as const

export const SOURCES: EntryKind<'sources', z.infer<typeof sourceFields>, z.infer<typeof sourceChanges>> = {
  kind: 'sources',
  word: 'Source',
  plural: 'Sources',
  description: 'An origin of events: a capture layer expected on a pathway, or a source that only discovers traffic.',
  nameField: 'name',
  fields: sourceFields,
  changes: sourceChanges,
  record: z
    .object({
      id: idOf('src'),
      name: z.string(),
      pathway: z.enum(PATHWAY_CATEGORIES).nullable(),
      is_discovery_only: z.boolean(),
    })
    .meta({ id: 'DirectorySource' }),
  example: { fields: SOURCE, changes: { is_discovery_only: null }, record: { id: exampleId('src'), ...SOURCE } },
  nameOf: ({ name }) => name,
  make: sourceEntry,
  change: (entry, changes) => sourceEntry({ ...entry, ...changes }),
  show: (id, { name, pathway = null, is_discovery_only = false }) => ({ id, name, pathway, is_discovery_only }),
  audited: ({ name, pathway, is_discovery_only }) => ({ name, pathway, is_discovery_only }),
  refuse: () => undefined,
  refusals: [],
}

const PRINCIPAL = { principal_id: exampleId('key'), service: 'support-chat', exclusive: true }

export const PRINCIPALS: EntryKind<'principals', z.infer<typeof principalFields>, z.infer<typeof principalChanges>> = {
  kind: 'principals',
  word: 'Principal',
  plural: 'Principals',
  description:
    'Maps a credential to a service: the default for events that state neither service nor identity, or, with ' +
    '`exclusive`, the service of all its events.',
  nameField: 'principal_id',
  fields: principalFields,
  changes: principalChanges,
  record: z
    .object({ id: idOf('prn'), principal_id: z.string(), service: z.string(), exclusive: z.boolean() })
    .meta({ id: 'DirectoryPrincipal' }),
  example: { fields: PRINCIPAL, changes: { service: 'search' }, record: { id: exampleId('prn'), ...PRINCIPAL } },
  nameOf: ({ id }) => id,
  make: principalEntry,
  change: ({ id, service, exclusive }, changes) =>
    principalEntry({
      principal_id: id,
      service: changes.service ?? service,
      exclusive: changes.exclusive === undefined ? exclusive : changes.exclusive,
    }),
  show: (id, { id: principalId, service, exclusive = false }) => ({
    id,
    principal_id: principalId,
    service,
    exclusive,
  }),
  audited: ({ id, service, exclusive }) => ({ principal_id: id, service, exclusive }),
  refuse: refuseForeign,
  refusals: ['TENANT_MISMATCH'],
}

/** Refuses credentials of other tenants. A credential of its own need not exist yet. */
function refuseForeign(tenantId: string, { id }: PrincipalEntry, { idsOf }: Known): Problem | undefined {
  const prefix = CREDENTIAL_PREFIXES.find((each) => id.startsWith(`${each}_`))
  const refusal = prefix && refusalOfId(prefix, id, idsOf(tenantId), 'credential')
  if (refusal?.code !== 'NOT_FOUND') return refusal
  return invalid([{ pointer: '/principal_id', detail: 'must be the id of a credential' }])
}
