/** A person in a browser who signs in over the link to the company's identity provider. */
import { type Answer, type Browser, openBrowser } from './browser.js'
import { beginFlow, redeem } from './oauth-client.js'
import type { Instance } from './service.js'

/** The link on the sign-in page; '' without one. */
export const linkOn = ({ text }: Answer): string => /href="([^"]*\/v1\/oauth\/provider[^"]*)"/.exec(text)?.[1] ?? ''

/** Follows redirects until one leads to the client. */
export async function follow(browser: Browser, address: URL): Promise<URL> {
  let at = address
  for (let hops = 0; hops < 500; hops++) {
    const { location, status, text } = await browser.open(at)
    if (location === undefined) throw new Error(`${at.pathname} got ${status}: ${text}`)
    if (location.pathname === '/callback' && location.port === '51004') return location
    at = location
  }
  throw new Error('the redirects do not end')
}

/** Signs in over the link of the sign-in page. @returns the address to which the client is sent */
export async function overProvider(
  service: Instance,
  scope = 'read:reporting admin:config',
  more: Readonly<Record<string, string>> = {},
  browser = openBrowser(),
) {
  const flow = await beginFlow(service, scope)
  for (const [name, value] of Object.entries(more)) flow.address.searchParams.set(name, value)
  const page = await browser.open(flow.address)
  const location = await follow(browser, new URL(linkOn(page), service.baseUrl))
  return { flow, location, page }
}

export async function tokenOverProvider(...args: Parameters<typeof overProvider>) {
  const { flow, location } = await overProvider(...args)
  return redeem(flow, location)
}
