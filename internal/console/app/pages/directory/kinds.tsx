import type {
  DirectoryIdentity,
  DirectoryPrincipal,
  DirectoryService,
  DirectorySource,
} from 'attribution-service/sdk/api'
import { PATHWAY_CATEGORIES } from '../../../../records/interpretation.js'
import { namesOf } from '../../../figures/names.js'
import { wordOf } from '../../../figures/words.js'
import { Check, Choice, Field } from '../../parts/field.js'
import { textOf } from '../../parts/form.js'
import { Name } from '../../parts/name.js'
import { useActors } from '../../parts/who.js'
import type { Kind } from './entries.js'

/** The four collections of the directory. */

type Service = DirectoryService

export const SERVICES: Kind<Service> = {
  title: 'Services',
  one: 'a service',
  about: 'What calls are charged to, and the team that each belongs to.',
  path: '/api/v1/directory/services',
  named: 'name',
  nameOf: ({ name }) => name,
  head: ['owner', 'also called', 'from a date'],
  cells: ({ owner, aliases, changes }) => [
    <Name key="owner">{owner}</Name>,
    aliases.join(', '),
    changes
      .map(({ from, owner: to, name, merged_into: into }) =>
        [
          from.slice(0, 10),
          to !== null && `owner ${to}`,
          name !== null && `called ${name}`,
          into !== null && `part of ${into}`,
        ]
          .filter(Boolean)
          .join(' '),
      )
      .join('; '),
  ],
  Fields: ({ entry }) => (
    <>
      {entry === undefined && <Field label="Name" hint="as events state it" name="name" required />}
      <Field label="Owner" name="owner" required placeholder="team-…" defaultValue={entry?.owner} />
      <Field
        label="Also called"
        hint="(names, with commas between them)"
        name="aliases"
        maxLength={2_000}
        defaultValue={entry?.aliases.join(', ')}
      />
      <p class="muted">
        Another owner applies to calls of all times. One from a date, a new name or a merge: by a file, or over the API.
      </p>
    </>
  ),
  bodyOf: (fields) => ({ owner: textOf(fields, 'owner'), aliases: namesOf(textOf(fields, 'aliases') ?? '') }),
  entryOf: (name, body) => ({ service: { name, ...(body as Pick<Service, 'owner' | 'aliases'>) } }),
}

type Identity = DirectoryIdentity

export const IDENTITIES: Kind<Identity> = {
  title: 'Identities',
  one: 'an identity',
  about: 'People and programs that make calls.',
  path: '/api/v1/directory/identities',
  named: 'name',
  nameOf: ({ name }) => name,
  head: ['owner', 'works only for', 'what it is'],
  cells: ({ owner, service, is_workload: isWorkload, is_active: isActive }) => [
    owner === null ? '–' : <Name key="owner">{owner}</Name>,
    service === null ? '–' : <Name key="service">{service}</Name>,
    `${isWorkload ? 'a program' : 'a person'}${isActive ? '' : ', has left'}`,
  ],
  Fields: ({ entry }) => (
    <>
      {entry === undefined && <Field label="Name" hint="as events state it" name="name" required />}
      <Field label="Owner" name="owner" placeholder="team-…" defaultValue={entry?.owner ?? undefined} />
      <Field label="Works only for" hint="(a service)" name="service" defaultValue={entry?.service ?? undefined} />
      <Check
        label="It is a program"
        hint="not counted among the people of a group"
        name="is_workload"
        defaultChecked={entry?.is_workload === true}
      />
    </>
  ),
  bodyOf: (fields) => ({
    owner: textOf(fields, 'owner') ?? null,
    service: textOf(fields, 'service') ?? null,
    is_workload: fields.has('is_workload'),
  }),
}

type Principal = DirectoryPrincipal

export const PRINCIPALS: Kind<Principal> = {
  title: 'Credentials',
  one: 'a credential',
  about: 'Keys, clients, people and connectors whose calls belong to a service.',
  path: '/api/v1/directory/principals',
  named: 'principal_id',
  nameOf: ({ principal_id: id }) => id,
  head: ['service', 'used by'],
  cells: ({ service, exclusive }) => [
    <Name key="service">{service}</Name>,
    exclusive ? 'this service alone' : 'this service, if the call says nothing else',
  ],
  Fields: ({ entry }) => (
    <>
      {entry === undefined && <Credential />}
      <Field label="Service" name="service" required defaultValue={entry?.service} />
      <Check label="Only this service uses it" name="exclusive" defaultChecked={entry?.exclusive === true} />
    </>
  ),
  bodyOf: (fields) => ({ service: textOf(fields, 'service'), exclusive: fields.has('exclusive') }),
  entryOf: (id, body) => ({ principal: { principal_id: id, ...(body as Pick<Principal, 'service' | 'exclusive'>) } }),
}

/** Credentials are known by their names, and stated by their ids. */
function Credential() {
  const actors = useActors()
  return <Choice label="Credential" name="name" choices={Object.fromEntries(actors)} />
}

type Source = DirectorySource

export const SOURCES: Kind<Source> = {
  title: 'Capture layers',
  one: 'a capture layer',
  about: 'What captures calls, and where it is expected: coverage says when it is missing.',
  path: '/api/v1/directory/sources',
  named: 'name',
  nameOf: ({ name }) => name,
  head: ['expected on', 'reports'],
  cells: ({ pathway, is_discovery_only: isDiscovery }) => [
    pathway === null ? 'no pathway' : wordOf(pathway),
    isDiscovery ? 'that there is traffic, but no calls' : 'calls',
  ],
  Fields: ({ entry }) => (
    <>
      {entry === undefined && (
        <Field label="Name" hint="as ingestion_layer" name="name" required placeholder="gateway" />
      )}
      <Choice
        label="Expected on"
        name="pathway"
        defaultValue={entry?.pathway ?? ''}
        choices={{
          '': 'no pathway',
          ...Object.fromEntries(PATHWAY_CATEGORIES.map((pathway) => [pathway, wordOf(pathway)])),
        }}
      />
      <Check
        label="It reports traffic, but no calls"
        name="is_discovery_only"
        defaultChecked={entry?.is_discovery_only === true}
      />
    </>
  ),
  bodyOf: (fields) => ({
    pathway: textOf(fields, 'pathway') ?? null,
    is_discovery_only: fields.has('is_discovery_only'),
  }),
}
