import { useLayoutEffect, useState } from 'preact/hooks'
import { type Address, addressOf, changed, readAddress } from '../../figures/address.js'
import { currentTokens } from '../session/session.js'
import { viewerZone } from './zone.js'

/** The address bar: read, changed, and followed. */

const CHANGED = 'attribution:address'

/**
 * The address, which then names the tenant and the time zone: what a person copies from the address bar shows others the
 * same days of the same data.
 */
function read(): Address {
  const address = readAddress(location.pathname, location.search)
  const { page, params } = address
  const isWhole = params.has('zone')
  if (!isWhole) params.set('zone', viewerZone(params))
  const href = addressOf(page, params)
  if (!isWhole || href.split('?')[0] !== location.pathname) history.replaceState(null, '', href)
  return address
}

export function useAddress(): Address {
  const [address, setAddress] = useState(read)
  // Before the effects of pages, which may go elsewhere.
  useLayoutEffect(() => {
    const follow = (): void => setAddress(read())
    addEventListener('popstate', follow)
    addEventListener(CHANGED, follow)
    return () => {
      removeEventListener('popstate', follow)
      removeEventListener(CHANGED, follow)
    }
  }, [])
  return address
}

export function goTo(href: string, how: 'push' | 'replace' = 'push'): void {
  if (how === 'push') history.pushState(null, '', href)
  else history.replaceState(null, '', href)
  dispatchEvent(new Event(CHANGED))
}

/** Changes parameters of the open page. What can be undone by the same control replaces, and needs no step back. */
export function setParams(changes: Readonly<Record<string, string>>, how: 'push' | 'replace' = 'push'): void {
  const { page, params } = read()
  goTo(addressOf(page, changed(params, changes)), how)
}

/** Links of the console change the page in place; with a modifier key they do what links do. */
export function followLink(event: MouseEvent): void {
  const link = event.target instanceof Element ? event.target.closest('a') : null
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey
  if (link === null || !isPlain || link.target !== '' || link.hasAttribute('download')) return
  const url = new URL(link.href)
  if (url.origin !== location.origin || !/^\/console(\/|$)/.test(url.pathname)) return
  const { tenant, page, params } = readAddress(url.pathname, url.search)
  // Another tenant is another sign-in: the browser loads it.
  if (tenant !== '' && tenant !== currentTokens()?.tenantId) return
  event.preventDefault()
  goTo(addressOf(page, params))
}
