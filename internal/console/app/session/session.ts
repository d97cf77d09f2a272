import { addressOf, readAddress, setTenant } from '../../figures/address.js'
import { type KnownTenants, tenantMeant } from '../../figures/tenants.js'
import {
  clientIdOf,
  endSessions,
  redeemCode,
  redeemLink,
  redirectUri,
  renewTokens,
  SignInRefused,
  type Tokens,
} from './tokens.js'

/**
 * The sign-in of this browser: how it begins, goes on, is asked for again, and ends.
 *
 * It is a cookie that no script can read. Each tab exchanges it for an access token, which it has in memory only, and
 * tells the others over a BroadcastChannel when somebody has signed in or out.
 */

const TENANT_KEY = 'attribution.tenant'
const TENANTS_KEY = 'attribution.tenants'
const PENDING_KEY = 'attribution.sign-in'
/** Renewed when it has less than this left. */
const RENEW_BEFORE_MS = 60_000

type Message =
  | { readonly kind: 'began'; readonly tenantId: string }
  | { readonly kind: 'ended' }
  /** From the window in which a person signed in again. */
  | { readonly kind: 'answered'; readonly state: string; readonly code: string | null }

/** What becomes of the sign-in while the console is open. */
export type Change =
  | { readonly kind: 'signed out'; readonly reason: string }
  /** In another tab, or in the window in which a person was to sign in again. */
  | { readonly kind: 'somebody else'; readonly username: string }
  /** In another tab, while nobody was signed in in this one. */
  | { readonly kind: 'signed in' }

/** What a redirect to the sign-in page leaves behind: removed as soon as the answer is there. */
interface Pending {
  readonly state: string
  readonly verifier: string
  readonly tenantId: string
  readonly returnTo: string
}

let tokens: Tokens | undefined
let renewing: Promise<string> | undefined
let askAgain: (() => Promise<boolean>) | undefined
const channel = new BroadcastChannel('attribution.session')
const listeners = new Set<(change: Change) => void>()

channel.addEventListener('message', ({ data }: MessageEvent<Message>) => {
  if (data.kind === 'ended' && tokens !== undefined) end({ kind: 'signed out', reason: '' })
  if (data.kind !== 'began' || data.tenantId !== (tokens?.tenantId ?? rememberedTenant())) return
  if (tokens === undefined) end({ kind: 'signed in' })
  else renewAccessToken(tokens.accessToken).catch(() => undefined)
})

const say = (message: Message): void => channel.postMessage(message)

export const currentTokens = (): Tokens | undefined => tokens
export const hasScope = (scope: string): boolean => tokens?.scopes.includes(scope) === true

const knownTenants = (): KnownTenants => JSON.parse(localStorage.getItem(TENANTS_KEY) ?? '{}') as KnownTenants

/** The tenant that a person means by its id or name. */
export const tenantOf = (text: string): string => tenantMeant(text.trim(), knownTenants())

/** The tenant that the address names, else that of the last sign-in: an address alone is remembered by nobody. */
export function rememberedTenant(): string {
  const { tenant } = readAddress(location.pathname, location.search)
  return tenant === '' ? (localStorage.getItem(TENANT_KEY) ?? '') : tenantOf(tenant)
}

/** @returns stops */
export function onChange(listener: (change: Change) => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** @param ask whether the person has signed in again: asked where they are, when their sign-in has ended meanwhile */
export function onExpiry(ask: (() => Promise<boolean>) | undefined): void {
  askAgain = ask
}

/** @returns the access token */
function keep(renewed: Tokens): string {
  if (tokens !== undefined && tokens.userId !== renewed.userId) {
    // What one person has begun here must not be done in the name of another.
    end({ kind: 'somebody else', username: renewed.username })
    throw new SignInRefused('Somebody else has signed in.')
  }
  tokens = renewed
  localStorage.setItem(TENANT_KEY, renewed.tenantId)
  localStorage.setItem(TENANTS_KEY, JSON.stringify({ ...knownTenants(), [renewed.tenantId]: renewed.tenantName }))
  return renewed.accessToken
}

/** The same, of a new sign-in, of which other tabs know nothing yet. */
function begin(renewed: Tokens): void {
  say({ kind: 'began', tenantId: renewed.tenantId })
  keep(renewed)
}

function end(change: Change): void {
  tokens = undefined
  for (const listener of listeners) listener(change)
}

/**
 * Signs in from what the address holds (the answer of the sign-in page, or a one-time link), else by the cookie. Removes
 * from the address what must not stay there.
 *
 * @returns why nobody is signed in; undefined when somebody is
 * @throws SignInRefused when the address held a sign-in that is not valid any more
 */
export async function beginSession(): Promise<'callback elsewhere' | 'signed out' | undefined> {
  const address = new URL(location.href)
  if (address.pathname === '/console/callback') return answerCallback(address)
  const tenantId = rememberedTenant()
  if (clientIdOf(tenantId) === '') return 'signed out'
  const link = new URLSearchParams(address.hash.slice(1))
  const [code, verifier] = [link.get('code'), link.get('verifier')]
  history.replaceState(null, '', addressAt(tenantId))
  if (code !== null && verifier !== null) {
    begin(await redeemLink(tenantId, code, verifier))
    return undefined
  }
  try {
    keep(await renewTokens(tenantId))
    return undefined
  } catch (cause) {
    if (cause instanceof SignInRefused) return 'signed out'
    throw cause
  }
}

/** Where the person is, at the tenant. */
function addressAt(tenantId: string): string {
  setTenant(tenantId)
  const { page, params } = readAddress(location.pathname, location.search)
  return addressOf(page, params)
}

async function answerCallback({ searchParams }: URL): Promise<'callback elsewhere' | undefined> {
  const [code, state] = [searchParams.get('code'), searchParams.get('state') ?? '']
  history.replaceState(null, '', addressOf('', new URLSearchParams()))
  const pending = JSON.parse(sessionStorage.getItem(PENDING_KEY) ?? 'null') as Pending | null
  sessionStorage.removeItem(PENDING_KEY)
  if (pending?.state !== state) {
    say({ kind: 'answered', state, code })
    return 'callback elsewhere'
  }
  setTenant(pending.tenantId)
  history.replaceState(null, '', pending.returnTo)
  if (code === null) throw new SignInRefused(`You are not signed in. ${searchParams.get('error_description') ?? ''}`)
  begin(await redeemCode(pending.tenantId, code, pending.verifier))
  return undefined
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
  // No step back comes here, which would lead to the sign-in page again.
  location.replace(authorizeUrl(tenantId, state, await challengeOf(verifier)))
}

/** A second sign-in in a window of its own, so that what the person has typed here stays. */
export interface SignInAgain {
  /** Must be called by a click. @returns false when the browser blocked the window */
  open(): boolean
  /** Resolves to whether the person signed in. */
  readonly done: Promise<boolean>
  cancel(): void
}

/** @param isRecent whether the person must authenticate anew, also where the company's provider knows them */
export async function prepareSignInAgain(isRecent: boolean): Promise<SignInAgain> {
  const tenantId = tokens?.tenantId ?? rememberedTenant()
  const [state, verifier] = [randomText(), randomText()]
  const url = authorizeUrl(tenantId, state, await challengeOf(verifier), isRecent ? { max_age: '0' } : {})
  let resolve: (isSignedIn: boolean) => void = () => undefined
  const done = new Promise<boolean>((settled) => {
    resolve = settled
  })
  const settle = (isSignedIn: boolean): void => {
    channel.removeEventListener('message', hear)
    resolve(isSignedIn)
  }
  // A change that waits is given up; a sign-in that has ended is still asked for.
  const fail = (): void => {
    if (isRecent) settle(false)
  }
  const hear = ({ data }: MessageEvent<Message>): void => {
    if (data.kind === 'answered' && data.state === state) {
      if (data.code === null) fail()
      else
        redeemCode(tenantId, data.code, verifier)
          .then(begin)
          .then(() => settle(true), fail)
    }
    // In another tab.
    if (data.kind === 'began' && data.tenantId === tenantId) {
      renewTokens(tenantId)
        .then(keep)
        .then(() => settle(true), fail)
    }
  }
  channel.addEventListener('message', hear)
  return {
    open: () => window.open(url, '_blank', 'popup,width=520,height=680') !== null,
    done,
    cancel: () => settle(false),
  }
}

/** An access token that is valid for a while. @throws SignInRefused when nobody is signed in any more */
export async function validAccessToken(): Promise<string> {
  if (tokens !== undefined && tokens.expiresAtMs - Date.now() > RENEW_BEFORE_MS) return tokens.accessToken
  return renewAccessToken(tokens?.accessToken)
}

/** @param stale the token that must not be used any more: it may have been renewed already */
export async function renewAccessToken(stale: string | undefined): Promise<string> {
  if (tokens !== undefined && tokens.accessToken !== stale) return tokens.accessToken
  renewing ??= renew().finally(() => {
    renewing = undefined
  })
  return renewing
}

/** By the cookie; where that has ended, by the person, who is asked. What waits for the token goes on then. */
async function renew(): Promise<string> {
  if (tokens === undefined) throw new SignInRefused('Sign in again: the last sign-in has ended.')
  try {
    return keep(await renewTokens(tokens.tenantId))
  } catch (cause) {
    if (!(cause instanceof SignInRefused) || tokens === undefined) throw cause
    const isSignedIn = (await askAgain?.()) === true
    if (isSignedIn && tokens !== undefined) return tokens.accessToken
    if (tokens !== undefined) end({ kind: 'signed out', reason: '' })
    throw cause
  }
}

const NOT_ENDED =
  'The service did not answer, so that this browser may still be signed in. Load this page again, and sign out again.'

/** Ends the sign-in of the whole browser. */
export async function signOut(): Promise<void> {
  const reason = await endSessions().then(
    () => '',
    () => NOT_ENDED,
  )
  say({ kind: 'ended' })
  end({ kind: 'signed out', reason })
}
