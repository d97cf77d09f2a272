import { UNASSIGNED } from '../records/interpretation.js'
import { comparableName } from '../text/comparable-name.js'
import type { NamedService } from './dated-changes.js'
import { type Directory, namesOf } from './directory.js'

/**
 * How models know services. They learn from calls of months and name calls of other days, so they know a service by the
 * name and owner of its entry, whatever it was called when; what it was called at the time of a call is put in when
 * they name one.
 */
export interface Label {
  readonly service: string
  readonly owner: string
}

/** The name and owner by which models know what a record shows. */
export function undatedLabel(label: Label, tenantId: string, directory: Pick<Directory, 'serviceEntry'>): Label {
  const entry = directory.serviceEntry(tenantId, label.service)
  return entry?.changes === undefined ? label : { service: entry.name, owner: entry.owner }
}

/**
 * What records show of a service that models know, at the time of a call. A model that learnt of a service before the
 * directory had it knows no owner of it.
 */
export function datedLabel(
  label: Label,
  tenantId: string,
  atMs: number,
  directory: Pick<Directory, 'service' | 'serviceEntry'>,
): Label {
  const { service, owner } = label
  const entry = directory.serviceEntry(tenantId, service)
  if (entry === undefined || (entry.changes === undefined && owner !== UNASSIGNED)) return { service, owner }
  const named: NamedService | undefined = directory.service(tenantId, service, atMs)
  return named === undefined ? { service, owner } : { service: named.name, owner: named.owner }
}

/** The labels of the services that have changes, by each of their names, to be sent to another thread. */
export const undatedLabels = (
  directory: Pick<Directory, 'services'>,
  tenantId: string,
): (readonly [name: string, label: Label])[] =>
  [...directory.services(tenantId)].flatMap((entry) =>
    entry.changes === undefined
      ? []
      : namesOf(entry).map((name) => [comparableName(name), { service: entry.name, owner: entry.owner }] as const),
  )
