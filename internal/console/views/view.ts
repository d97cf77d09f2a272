import { z } from 'zod'
import type { Caller } from '../../auth/authenticate.js'
import type { Records } from '../../broker/records.js'
import type { WatchedRecords } from '../../broker/watched-records.js'
import { invalid } from '../../http/mutations/read-body.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import { name } from '../../text/plain-text.js'

/** Views of the console that people save: their form, and whose they are. */

/** A value of the bucket `views`. */
export interface StoredView {
  readonly id: string
  readonly tenant_id: string
  readonly name: string
  /** Last segment of the page's address; empty: the first page. */
  readonly page: string
  /** The address's query: filters, period, sorting and the like. */
  readonly query: string
  readonly shared: boolean
  /** Id of the credential that saved it, or to which it was handed over. */
  readonly owner: string
  readonly created_at: string
}

/** Per tenant, and of each owner: nobody can use up what the others need. */
export const VIEWS_MAX = 2_000
export const VIEWS_OF_ONE_MAX = 100

const QUERY_CHARACTERS_MAX = 2_048

const stated = {
  name: name(),
  page: z
    .string()
    .max(40)
    .regex(/^[a-z-]*$/, 'must consist of lower-case letters and hyphens')
    .meta({ description: 'Last segment of the address of its page; empty: the overview.', examples: ['explorer'] }),
  query: z
    .string()
    .max(QUERY_CHARACTERS_MAX)
    .regex(/^[!-~]*$/, 'must be the query of an address: ASCII, without spaces')
    .meta({
      description: 'Parameters of the page, as in its address after `?`. May be empty.',
      examples: ['filter[service][eq]=checkout&period=last-month'],
    }),
  shared: z.boolean().meta({
    description: "Whether the tenant's other people see it. Only people have views that are not shared.",
  }),
}
export const viewFields = z.strictObject(stated)
export type ViewFields = z.infer<typeof viewFields>
export const viewChanges = viewFields.partial()
export type ViewChanges = z.infer<typeof viewChanges>

export const storedView = (fields: ViewFields, id: string, { tenantId, owner, nowMs }: Saving): StoredView => ({
  id,
  tenant_id: tenantId,
  ...fields,
  owner,
  created_at: new Date(nowMs).toISOString(),
})
interface Saving {
  readonly tenantId: string
  readonly owner: string
  readonly nowMs: number
}

export const changedView = (view: StoredView, changes: ViewChanges): StoredView => ({
  ...view,
  name: changes.name ?? view.name,
  page: changes.page ?? view.page,
  query: changes.query ?? view.query,
  shared: changes.shared ?? view.shared,
})

/** What people share is for people: a program that names its owners would be a list of them. */
export const isSeenBy = ({ shared, owner }: StoredView, { principal, scopes }: Caller): boolean =>
  owner === principal || (shared && (isPerson(principal) || scopes.has('admin:config')))

const isPerson = (principal: string): boolean => principal.startsWith('usr_')

/** A view is its owner's. Administrators tidy up what is shared. */
export const refuseChange = ({ owner }: StoredView, { principal, scopes }: Caller): Problem | undefined =>
  owner === principal || scopes.has('admin:config')
    ? undefined
    : problem('INSUFFICIENT_SCOPE', 'The view belongs to somebody else: to change it needs the scope admin:config.')

/** @param all the tenant's views */
export function refuseView(view: StoredView, all: Iterable<StoredView>): Problem | undefined {
  if (!view.shared && !isPerson(view.owner)) {
    return invalid([{ pointer: '/shared', detail: 'must be true: only people have views that are not shared' }])
  }
  const known = [...all]
  // A person who got those of others may have more, and may still change them.
  const isNew = !known.some(({ id }) => id === view.id)
  return !isNew || known.filter(({ owner }) => owner === view.owner).length < VIEWS_OF_ONE_MAX
    ? undefined
    : problem('CONFLICT', `Limit reached: at most ${VIEWS_OF_ONE_MAX} views of one owner; delete some first.`)
}

/**
 * What becomes of the views of a person who is deleted: those that only they saw are deleted, the others are handed
 * over. Safe to repeat.
 *
 * @param heir id of the credential that gets them
 */
export async function leaveViews(
  views: Pick<WatchedRecords<StoredView>, 'of'> & Pick<Records<StoredView>, 'change' | 'delete'>,
  tenantId: string,
  leaver: string,
  heir: string,
): Promise<void> {
  for (const { id, owner } of [...views.of(tenantId)]) {
    if (owner !== leaver) continue
    const isDeleted = await views.delete(id, (view) => view.owner === leaver && !view.shared)
    if (!isDeleted) await views.change(id, (view) => (view.owner === leaver ? { ...view, owner: heir } : undefined))
  }
}
