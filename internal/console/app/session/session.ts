import { addressOf, readAddress, setTenant } from '../../figures/address.js'
import {
  clientIdOf,
  redeemCode,
  redeemLink,
  redirectUri,
  refreshTokens,
  revokeTokens,
  SignInRefused,
  type Tokens,
} from './tokens.js'

/**
 * The sign-in of this browser tab: how it begins, is renewed, is shared with other tabs, and ends.
 *
 * Tokens are in memory only, so that a closed browser has forgotten them. Tabs hand them to each other over a
 * BroadcastChannel, and renew them one at a time (Web Locks): a refresh token is valid once.
 */

const TENANT_KEY = 'attribution.tenant'
const PENDING_KEY = 'attribution.sign-in'
/** Renewed when it has less than this left. */
const RENEW_BEFORE_MS = 60_000
/** How long to wait for another tab to answer. */
const OTHER_TABS_MS = 150

type Message =
  | { readonly kind: 'asks'; readonly tenantId: string }
  | { readonly kind: 'has'; readonly tokens: Tokens }
  | { readonly kind: 'ended' }
  /** From the window in which a person signed in again. */
  | { readonly kind: 'answered'; readonly state: string; readonly code: string | null }

/** What a redirect to the sign-in page leaves behind: removed as soon as the answer is there. */
interface Pending {
  readonly state: string
  readonly verifier: string
  readonly tenantId: string
  readonly returnTo: string
}

let tokens: Tokens | undefined
const channel = new BroadcastChannel('attribution.session')
const listeners = new Set<() => void>()

channel.addEventListener('message', ({ data }: MessageEvent<Message>) => {
  if (data.kind === 'asks' && tokens?.tenantId === data.tenantId) say({ kind: 'has', tokens })
  if (data.kind === 'has' && tokens?.tenantId === data.tokens.tenantId) tokens = data.tokens
  if (data.kind === 'ended' && tokens !== undefined) forget()
})

const say = (message: Message): void => channel.postMessage(message)

export const currentTokens = (): Tokens | undefined => tokens
/** The tenant that the address names, else that of the last sign-in: an address alone is remembered by nobody. */
export const rememberedTenant = (): string =>
  readAddress(location.pathname, location.search).tenant || (localStorage.getItem(TENANT_KEY) ?? '')
export const hasScope = (scope: string): boolean => tokens?.scopes.includes(scope) === true

/** Calls back when the person is signed out. @returns stops */
export function onSignedOut(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function keep(renewed: Tokens): void {
  tokens = renewed
  localStorage.setItem(TENANT_KEY, renewed.tenantId)
  say({ kind: 'has', tokens: renewed })
}

function forget(): void {
  tokens = undefined
  for (const listener of listeners) listener()
}

/**
 * Signs in from what the address holds (the answer of the sign-in page, or a one-time link), else from another tab.
 * Removes from the address what must not stay there.
 *
 * @returns why nobody is signed in; undefined when somebody is
 * @throws SignInRefused when the address held a sign-in that is not valid any more
 */
export async function beginSession(): Promise<'callback elsewhere' | 'signed out' | undefined> {
  const address = new URL(location.href)
  const tenantId = rememberedTenant()
  if (address.pathname === '/console/callback') return answerCallback(address)
  const link = new URLSearchParams(address.hash.slice(1))
  const [code, verifier] = [link.get('code'), link.get('verifier')]
  if (code !== null && verifier !== null) {
    history.replaceState(null, '', addressAt(tenantId))
    keep(await redeemLink(tenantId, code, verifier))
    return undefined
  }
  tokens = await fromOtherTab(tenantId)
  if (tokens === undefined) return 'signed out'
  history.replaceState(null, '', addressAt(tenantId))
  return undefined
}

/** Where the person is, once signed in at the tenant. */
function addressAt(tenantId: string): string {
  setTenant(tenantId)
  const { page, params } = readAddress(location.pathname, location.search)
  return addressOf(page, params)
}

async function answerCallback(address: URL): Promise<'callback elsewhere' | 'signed out' | undefined> {
  const [code, state] = [address.searchParams.get('code'), address.searchParams.get('state') ?? '']
  history.replaceState(null, '', addressOf('', new URLSearchParams()))
  const pending = JSON.parse(sessionStorage.getItem(PENDING_KEY) ?? 'null') as Pending | null
  sessionStorage.removeItem(PENDING_KEY)
  if (pending?.state !== state) {
    say({ kind: 'answered', state, code })
    return 'callback elsewhere'
  }
  setTenant(pending.tenantId)
  history.replaceState(null, '', pending.returnTo)
  if (code === null) return 'signed out'
  keep(await redeemCode(pending.tenantId, code, pending.verifier))
  return undefined
}

function fromOtherTab(tenantId: string): Promise<Tokens | undefined> {
  return new Promise((resolve) => {
    const answered = ({ data }: MessageEvent<Message>): void => {
      if (data.kind === 'has' && data.tokens.tenantId === tenantId) settle(data.tokens)
    }
    const settle = (found: Tokens | undefined): void => {
      channel.removeEventListener('message', answered)
      clearTimeout(timer)
      resolve(found)
    }
    const timer = setTimeout(() => settle(undefined), OTHER_TABS_MS)
    channel.addEventListener('message', answered)
    say({ kind: 'asks', tenantId })
  })
}

const authorizeUrl = (tenantId: string, state: string, challenge: string, more: Record<string, string> = {}): string =>
  `/v1/oauth/authorize?${new URLSearchParams({
    response_type: 'code',
    client_id: clientIdOf(tenantId),
    redirect_uri: redirectUri(),
    state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...more,
  })}`

/** A state, or a verifier of RFC 7636. */
const randomText = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)))

/** Of method S256. */
async function challengeOf(verifier: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  return base64url(new Uint8Array(digest))
}

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

/** Leaves for the sign-in page; the answer comes back to where the person is now. */
export async function goToSignIn(tenantId: string): Promise<void> {
  const [state, verifier] = [randomText(), randomText()]
  const pending: Pending = { state, verifier, tenantId, returnTo: addressAt(tenantId) }
  sessionStorage.setItem(PENDING_KEY, JSON.stringify(pending))
  location.assign(authorizeUrl(tenantId, state, await challengeOf(verifier)))
}

/** A second sign-in in a window of its own, so that what the person has typed here stays. */
export interface SignInAgain {
  /** Must be called by a click. @returns false when the browser blocked the window */
  open(): boolean
  /** Resolves to whether the person signed in. */
  readonly done: Promise<boolean>
  cancel(): void
}

export async function prepareSignInAgain(): Promise<SignInAgain> {
  const tenantId = tokens?.tenantId ?? rememberedTenant()
  const [state, verifier] = [randomText(), randomText()]
  // The company's provider would answer by itself with the sign-in it has.
  const url = authorizeUrl(tenantId, state, await challengeOf(verifier), { max_age: '0' })
  let settle: (isSignedIn: boolean) => void = () => undefined
  const done = new Promise<boolean>((resolve) => {
    settle = resolve
  })
  const answered = ({ data }: MessageEvent<Message>): void => {
    if (data.kind !== 'answered' || data.state !== state) return
    channel.removeEventListener('message', answered)
    if (data.code === null) return settle(false)
    redeemCode(tenantId, data.code, verifier).then(
      (renewed) => {
        keep(renewed)
        settle(true)
      },
      () => settle(false),
    )
  }
  channel.addEventListener('message', answered)
  return {
    open: () => window.open(url, '_blank', 'popup,width=520,height=680') !== null,
    done,
    cancel() {
      channel.removeEventListener('message', answered)
      settle(false)
    },
  }
}

/** An access token that is valid for a while. @throws SignInRefused when the sign-in has ended */
export async function validAccessToken(): Promise<string> {
  if (tokens !== undefined && tokens.expiresAtMs - Date.now() > RENEW_BEFORE_MS) return tokens.accessToken
  return renewAccessToken(tokens?.accessToken)
}

/** @param stale the token that must not be used any more: another tab may have renewed it already */
export async function renewAccessToken(stale: string | undefined): Promise<string> {
  return navigator.locks.request('attribution.refresh', async () => {
    if (tokens === undefined) throw new SignInRefused('Sign in again: the last sign-in has ended.')
    if (tokens.accessToken !== stale) return tokens.accessToken
    try {
      keep(await refreshTokens(tokens))
    } catch (cause) {
      if (cause instanceof SignInRefused) forget()
      throw cause
    }
    return tokens.accessToken
  })
}

export async function signOut(): Promise<void> {
  const ending = tokens
  say({ kind: 'ended' })
  forget()
  if (ending !== undefined) await revokeTokens(ending)
}
