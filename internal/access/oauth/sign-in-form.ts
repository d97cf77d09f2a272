import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Scope } from '../../auth/scopes.js'

/**
 * The state that a sign-in form carries through the browser: the authorization request that was validated when the page
 * was shown, in a hidden field with our signature. A cookie's random value binds it to the browser, so that nobody can
 * make a person's browser submit a form that was shown to somebody else (login CSRF). It expires.
 */
export interface SignInForm {
  readonly clientId: string
  readonly redirectUri: string
  readonly scopes: readonly Scope[]
  readonly state: string
  readonly codeChallenge: string
  /** How long ago the person may have authenticated, in seconds. */
  readonly maxAgeS?: number
  /** Of a sign-in at the company's provider: random, so that each has a state of its own. */
  readonly atProvider?: string
  /** How often the provider was told to ask the person anew: its answers were too old. */
  readonly timesAsked?: number
  /** The person whose password was correct, while their code is outstanding. */
  readonly proven?: ProvenPerson
}

export interface ProvenPerson {
  readonly userId: string
  readonly atMs: number
  /** Base32; the secret of a second factor that the person is setting up. */
  readonly freshSecret?: string
}

interface SealedForm extends SignInForm {
  readonly expiresAtMs: number
}

export const FORM_LIFE_S = 10 * 60

/** @param browser the value of the browser's cookie */
export function sealForm(key: Uint8Array, form: SignInForm, browser: string, nowMs: number): string {
  const sealed: SealedForm = { ...form, expiresAtMs: nowMs + FORM_LIFE_S * 1_000 }
  const text = Buffer.from(JSON.stringify(sealed)).toString('base64url')
  return `${text}.${macOf(key, browser, text)}`
}

/**
 * @returns undefined for a form that this service did not sign, that belongs to another browser, or that has expired
 */
export function openForm(key: Uint8Array, sealed: string, browser: string, nowMs: number): SignInForm | undefined {
  const [text = '', mac = '', ...more] = sealed.split('.')
  const [presented, right] = [Buffer.from(mac), Buffer.from(macOf(key, browser, text))]
  if (more.length > 0 || presented.length !== right.length || !timingSafeEqual(presented, right)) return undefined
  const form = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as SealedForm
  return nowMs < form.expiresAtMs ? form : undefined
}

const macOf = (key: Uint8Array, browser: string, text: string): string =>
  createHmac('sha256', key).update(`sign-in form\0${browser}\0${text}`).digest('base64url')
