/** The state of a page is its address: what a person shares is what they see. */
export interface Address {
  /** Whose data: id or name of the tenant; empty where the address does not say. */
  readonly tenant: string
  /** The path's last segment; empty: the overview. */
  readonly page: string
  readonly params: URLSearchParams
}

const CONSOLE = '/console'
const PATH = /^\/console(?:\/t\/([^/]+))?(?:\/([^/]*))?/

/** `/console/t/<tenant>/<page>?…`, or as before there were tenants in paths: `/console/<page>?tenant=<tenant>&…`. */
export function readAddress(pathname: string, search: string): Address {
  const [, inPath, page = ''] = PATH.exec(pathname) ?? []
  const params = new URLSearchParams(search)
  const tenant = inPath === undefined ? (params.get('tenant') ?? '') : decoded(inPath)
  params.delete('tenant')
  return { tenant, page, params }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** Where the pages are. */
let root = CONSOLE

/** All addresses from now on are of this tenant. @param tenant its id; empty: they do not say it */
export function setTenant(tenant: string): void {
  root = tenant === '' ? CONSOLE : `${CONSOLE}/t/${encodeURIComponent(tenant)}`
}

/** Parameters that hold on every page. */
const SHARED = ['period', 'zone', 'compare'] as const

/** Brackets, commas and slashes stay readable: these are the API's own filter names, and names of time zones. */
export function addressOf(page: string, params: URLSearchParams): string {
  const query = params
    .toString()
    .replaceAll('%5B', '[')
    .replaceAll('%5D', ']')
    .replaceAll('%2C', ',')
    .replaceAll('%2F', '/')
  return `${root}${page === '' ? '' : `/${page}`}${query === '' ? '' : `?${query}`}`
}

/** Those of the parameters that hold on every page. */
export function sharedParams(from: URLSearchParams): URLSearchParams {
  const params = new URLSearchParams()
  for (const name of SHARED) {
    const value = from.get(name)
    if (value !== null) params.set(name, value)
  }
  return params
}

/** The address of another page, in the same period. */
export function linkTo(page: string, from: URLSearchParams, more: Readonly<Record<string, string>> = {}): string {
  const params = sharedParams(from)
  for (const [name, value] of Object.entries(more)) params.set(name, value)
  return addressOf(page, params)
}

/** Some parameters changed; an empty value removes one. */
export function changed(params: URLSearchParams, changes: Readonly<Record<string, string>>): URLSearchParams {
  const next = new URLSearchParams(params)
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') next.delete(name)
    else next.set(name, value)
  }
  return next
}
