import type { DirectoryService, View } from 'attribution-service/sdk/api'
import { addressOf, linkTo } from '../../figures/address.js'
import { type CallName, type Entry, LISTED_SERVICE, placeOfId } from '../../figures/palette.js'
import { PRESETS } from '../../figures/period.js'
import { setParams } from '../address/address.js'
import { ask } from '../api/ask.js'
import { readNames } from '../api/use-names.js'
import { PAGES } from '../pages/pages.js'
import { currentTokens, hasScope, signOut } from '../session/session.js'
import type { OverlayProps } from './overlay-props.js'

type Here = Pick<OverlayProps, 'params' | 'onOpen'>

/** Dialogs that an address opens (`parts/does.tsx`), for administrators. */
const DIALOGS: readonly { readonly title: string; readonly page: string; readonly of: Record<string, string> }[] = [
  { title: 'Add a budget', page: 'budgets', of: { do: 'budget' } },
  { title: 'Register a webhook endpoint', page: 'webhooks', of: { do: 'endpoint' } },
  { title: 'Create an API key', page: 'access', of: { do: 'key' } },
  { title: 'Add an OAuth client', page: 'access', of: { list: 'clients', do: 'client' } },
  { title: 'Add a person', page: 'access', of: { list: 'people', do: 'person' } },
  { title: 'Add a service', page: 'directory', of: { do: 'services' } },
  { title: 'Add an identity', page: 'directory', of: { list: 'identities', do: 'identities' } },
  { title: 'Add a mapping rule', page: 'directory', of: { list: 'rules', do: 'rule' } },
  { title: 'Import the directory', page: 'directory', of: { list: 'file' } },
  { title: 'Add a price', page: 'prices', of: { do: 'price' } },
]

const isPermitted = (path: string): boolean => PAGES.some((page) => page.path === path && hasScope(page.scope))

/** Pages and actions: what is known without asking. */
export const ownEntries = ({ params, onOpen }: Here): readonly Entry[] => [
  ...PAGES.filter(({ path }) => isPermitted(path)).map(({ path, title }) => ({
    title,
    kind: 'page',
    does: linkTo(path, params),
  })),
  ...DIALOGS.filter(({ page }) => isPermitted(page) && hasScope('admin:config')).map(({ title, page, of }) => ({
    title,
    kind: 'action',
    does: linkTo(page, params, of),
  })),
  { title: 'Save this view', kind: 'action', does: () => onOpen('views') },
  {
    title: 'Copy the link to this view',
    kind: 'action',
    does: () => void navigator.clipboard.writeText(location.href),
  },
  { title: 'Keys', kind: 'action', does: () => onOpen('keys') },
  { title: 'Sign out', kind: 'action', does: () => void signOut() },
  ...Object.entries(PRESETS).map(([period, title]) => ({ title, kind: 'period', does: () => setParams({ period }) })),
]

export const viewEntries = (views: readonly View[]): readonly Entry[] =>
  views.map(({ name, page, query }) => ({
    title: name,
    kind: 'saved view',
    does: addressOf(page, new URLSearchParams(query)),
  }))

/** Dimensions whose names are found. */
const NAMES = [
  { dimension: 'service', kind: 'service' },
  { dimension: 'owner', kind: 'owner' },
  { dimension: 'served_model', kind: 'model' },
] as const

/** Of whom, and when it was read: a palette that opens again soon asks for no report. */
let kept: { readonly userId: string; readonly untilMs: number; readonly names: readonly CallName[] } | undefined
const KEPT_MS = 5 * 60 * 1_000

/** Names of calls, by cost. */
export async function readCallNames(signal: AbortSignal): Promise<readonly CallName[]> {
  const userId = currentTokens()?.userId ?? ''
  if (kept?.userId === userId && kept.untilMs > Date.now()) return kept.names
  const lists = await Promise.all(
    NAMES.map(async ({ dimension, kind }) =>
      (await readNames(dimension, signal)).map((title) => ({ title, kind, dimension })),
    ),
  )
  kept = { userId, untilMs: Date.now() + KEPT_MS, names: lists.flat() }
  return kept.names
}

interface Listed<T> {
  readonly data: readonly T[]
}

/** Of each kind, at most. */
const FOUND_MAX = '8'

/** People, and what the directory lists: those whose names contain a text. */
export async function readPeople(
  text: string,
  params: URLSearchParams,
  signal: AbortSignal,
): Promise<readonly Entry[]> {
  const query = new URLSearchParams({ contains: text, limit: FOUND_MAX })
  const [users, identities, services] = await Promise.all([
    ask<Listed<{ readonly id: string; readonly username: string }>>(`/api/v1/users?${query}`, { signal }),
    ask<Listed<{ readonly name: string }>>(`/api/v1/directory/identities?${query}`, { signal }),
    ask<Listed<DirectoryService>>(`/api/v1/directory/services?${query}`, { signal }),
  ])
  const inDirectory =
    (list: string, kind: string) =>
    ({ name }: { readonly name: string }) => ({
      title: name,
      kind,
      does: linkTo('directory', params, { list, find: name }),
    })
  return [
    ...users.data.map(({ id, username }) => ({
      title: username,
      kind: 'person with access',
      does: linkTo('access', params, { list: 'people', open: id }),
    })),
    ...identities.data.map(inDirectory('identities', 'person in the directory')),
    ...services.data.map(inDirectory('services', LISTED_SERVICE)),
  ]
}

/** What a text leads to, whatever is known. */
export function textEntries(text: string, params: URLSearchParams): readonly Entry[] {
  const place = placeOfId(text)
  if (place !== undefined) {
    return isPermitted(place.page)
      ? [{ title: text.trim(), kind: place.kind, does: linkTo(place.page, params, place.params) }]
      : []
  }
  const find = text.trim()
  if (find === '') return []
  const ofCalls = NAMES.map(({ dimension, kind }) => ({
    title: `Calls whose ${kind} contains ${find}`,
    kind: 'filter',
    does: linkTo('explorer', params, { [`filter[${dimension}][contains]`]: find }),
  }))
  const ofDirectory = {
    title: `Services of the directory that contain ${find}`,
    kind: 'filter',
    does: linkTo('directory', params, { list: 'services', find }),
  }
  return [...(isPermitted('explorer') ? ofCalls : []), ...(isPermitted('directory') ? [ofDirectory] : [])]
}
