import { linkTo } from './address.js'
import { DEFAULT_POOL } from './usage.js'

/** What the palette finds: by words of a name, and by ids. */

export interface Findable {
  readonly title: string
  /** What it is, in a word or two: "page". Found by it too, after what is found by its title. */
  readonly kind: string
}

/** What the palette lists: each leads to an address, or does something. */
export interface Entry extends Findable {
  readonly does: string | (() => void)
}

/** A name that calls have. */
export interface CallName extends Findable {
  readonly dimension: string
}

export const LISTED_SERVICE = 'service in the directory'

/** What has a name: a service that has calls and is in the directory is listed once, where its costs are. */
export function namedEntries(
  names: readonly CallName[],
  listed: readonly Entry[],
  params: URLSearchParams,
): readonly Entry[] {
  const services = new Set(names.filter(({ kind }) => kind === 'service').map(({ title }) => title.toLowerCase()))
  return [
    ...names.map(({ dimension, title, kind }) => ({
      title: title === DEFAULT_POOL ? 'nobody' : title,
      kind,
      does: linkTo('', params, { [`filter[${dimension}][eq]`]: title }),
    })),
    ...listed.filter(({ kind, title }) => kind !== LISTED_SERVICE || !services.has(title.toLowerCase())),
  ]
}

/** How well a title answers a word: the smaller the better; undefined: not at all. */
function rankOf(title: string, kind: string, word: string): number | undefined {
  const at = title.indexOf(word)
  if (at < 0) return kind.includes(word) ? 4 : undefined
  if (title === word) return 0
  if (at === 0) return 1
  return isLetter.test(title[at - 1] ?? '') ? 3 : 2
}
const isLetter = /[\p{L}\p{N}]/u

const folded = (text: string): string => text.toLowerCase()

/**
 * Entries that have every word of the text in their title or kind, in any case: whole titles first, then those that
 * begin with it, then words within; else in the order given.
 */
export function found<T extends Findable>(entries: readonly T[], text: string, max: number): readonly T[] {
  const words = folded(text)
    .split(/\s+/)
    .filter((word) => word !== '')
  const ranked = entries.flatMap((entry) => {
    const [title, kind] = [folded(entry.title), folded(entry.kind)]
    const ranks = words.map((word) => rankOf(title, kind, word))
    const known = ranks.filter((rank) => rank !== undefined)
    return known.length < ranks.length ? [] : [{ entry, rank: known.reduce((all, rank) => all + rank, 0) }]
  })
  return ranked
    .sort((one, other) => one.rank - other.rank)
    .slice(0, max)
    .map(({ entry }) => entry)
}

/** Where an id leads: a page, its parameters, and what it is. */
interface IdPlace {
  readonly kind: string
  readonly page: string
  readonly params: Readonly<Record<string, string>>
}

const ID = /^(?<prefix>[a-z]{3,4})_(?<bits>[0-9a-z]{26})$/
const TRACE = /^[0-9a-f]{32}$/

/** Of the ids of a call, `inv_` and `attr_` share what follows. */
const PLACES: Readonly<Record<string, (bits: string) => IdPlace>> = {
  attr: (bits) => ({ kind: 'call', page: 'explorer', params: { record: `attr_${bits}` } }),
  inv: (bits) => ({ kind: 'call', page: 'explorer', params: { record: `attr_${bits}` } }),
  bdg: (bits) => ({ kind: 'budget', page: 'budgets', params: { budget: `bdg_${bits}` } }),
  job: (bits) => ({ kind: 'export', page: 'exports', params: { job: `job_${bits}` } }),
  whk: (bits) => ({ kind: 'webhook', page: 'webhooks', params: { webhook: `whk_${bits}` } }),
  mdl: (bits) => ({ kind: 'model of inference', page: 'models', params: { model: `mdl_${bits}` } }),
  usr: (bits) => ({ kind: 'person', page: 'access', params: { list: 'people', open: `usr_${bits}` } }),
  cli: (bits) => ({ kind: 'OAuth client', page: 'access', params: { list: 'clients', open: `cli_${bits}` } }),
  key: (bits) => ({ kind: 'what this key did', page: 'audit', params: { actor: `key_${bits}` } }),
}

/** @returns undefined for what is no id, or one that no page shows by itself */
export function placeOfId(text: string): IdPlace | undefined {
  const id = text.trim()
  if (TRACE.test(id)) return { kind: 'calls of this trace', page: 'explorer', params: { 'filter[trace_id][eq]': id } }
  const { prefix = '', bits = '' } = ID.exec(id)?.groups ?? {}
  return Object.hasOwn(PLACES, prefix) ? PLACES[prefix]?.(bits) : undefined
}
