import { renderSVG } from 'uqr'
import type { Scope } from '../../auth/scopes.js'
import { escapeHtml, HTML_TYPE, htmlPage, pageHeaders } from '../../http/html.js'
import type { ProblemForm } from '../../problems/render.js'
import { originOf } from './redirect-uris.js'
import { setUpAddress } from './second-factor.js'

/** The content of the page: who requests which access, and why an earlier attempt failed. */
export interface SignInPage {
  readonly clientName: string
  /** Whether the client is our own console, which needs no consent. */
  readonly isConsole: boolean
  /** In whose data the person signs in. */
  readonly tenantName: string
  readonly redirectUri: string
  readonly scopes: readonly Scope[]
  /** The hidden field. */
  readonly form: string
  /** As typed before; the password is never repeated. */
  readonly username: string
  /** Why the attempt failed; empty the first time. */
  readonly failure: string
  /** The company's identity provider; undefined without one. */
  readonly provider: { readonly name: string; readonly host: string; readonly isOnly: boolean } | undefined
}

const MEANING: Readonly<Record<Scope, string>> = {
  'read:attribution': 'Read attribution records and coverage',
  'read:reporting': 'Read reports and aggregated figures',
  'export:create': 'Create exports and download them',
  'webhooks:manage': 'Manage webhook endpoints',
  'admin:config': 'Change keys, budgets and settings of the tenant',
}

/** CSP cannot express IPv6 addresses: for the loopback one it allows the scheme. */
export const formTargetOf = (redirectUri: string): string =>
  new URL(redirectUri).hostname.startsWith('[') ? 'http:' : originOf(redirectUri)

/** How the page shows where the answer goes: a host, or the scheme of a native app. */
const shownTarget = (redirectUri: string): string => new URL(redirectUri).host || originOf(redirectUri)

export const signInPage = (page: SignInPage): string => {
  const { form, failure, provider } = page
  return htmlPage(
    'Sign in',
    `${page.isConsole ? `<p>The console of <strong>${escapeHtml(page.tenantName)}</strong></p>` : consent(page)}
${failureText(failure)}
${provider === undefined ? '' : providerLink(page, provider)}
<form method="post" action="/v1/oauth/authorize">
<input type="hidden" name="request" value="${escapeHtml(form)}">
${provider?.isOnly === true ? '' : passwordFields(page)}
<button type="submit" name="decision" value="deny" formnovalidate>Cancel</button>
</form>`,
  )
}

const consent = ({ clientName, tenantName, redirectUri, scopes }: SignInPage): string =>
  `<p><strong>${escapeHtml(clientName)}</strong> at ${escapeHtml(shownTarget(redirectUri))} requests access to the data of
<strong>${escapeHtml(tenantName)}</strong>:</p>
<ul>${scopes.map((scope) => `<li>${MEANING[scope]}</li>`).join('')}</ul>`

/** What the person agrees to by signing in. */
const andAllow = ({ isConsole }: SignInPage): string => (isConsole ? '' : ' and allow')

const failureText = (failure: string): string =>
  failure === '' ? '' : `<p class="failure" role="alert" id="failure">${escapeHtml(failure)}</p>`

/** A link, because a policy for forms would have to name the provider's own address. */
const providerLink = (page: SignInPage, { name, host }: NonNullable<SignInPage['provider']>): string =>
  `<p><a class="button" href="${providerAddress(page.form)}">Sign in with ` +
  `${escapeHtml(name)}${andAllow(page)}</a> (at ${escapeHtml(host)})</p>`

/** @param form sealed */
export const providerAddress = (form: string): string => `/v1/oauth/provider?request=${encodeURIComponent(form)}`

const passwordFields = (page: SignInPage): string => {
  const { username, failure, provider } = page
  const usernameRules = 'autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="128"'
  const usernameFocus = failure === '' && provider === undefined ? ' autofocus' : ''
  const passwordRules = 'autocomplete="current-password" required maxlength="256"'
  const passwordFocus = failure === '' ? '' : ' aria-describedby="failure" autofocus'
  return `<label for="username">User name</label>
<input id="username" name="username" ${usernameRules} value="${escapeHtml(username)}"${usernameFocus}>
<label for="password">Password</label>
<input id="password" name="password" type="password" ${passwordRules}${passwordFocus}>
<button type="submit" name="decision" value="allow">Sign in${andAllow(page)}</button>`
}

/** The second page of a sign-in: a code, and before the first one what an authenticator app needs. */
export interface CodePage {
  /** The hidden field. */
  readonly form: string
  readonly username: string
  /** Why the code before was refused; empty the first time. */
  readonly failure: string
  /** Base32; undefined for a person who has set up a second factor. */
  readonly freshSecret: string | undefined
}

export const codePage = ({ form, username, failure, freshSecret }: CodePage): string => {
  const rules = 'inputmode="numeric" autocomplete="one-time-code" pattern="[0-9 ]*" required maxlength="7" autofocus'
  const description = failure === '' ? '' : ' aria-describedby="failure"'
  return htmlPage(
    freshSecret === undefined ? 'Enter your code' : 'Set up a second factor',
    `${freshSecret === undefined ? '' : setUp(freshSecret, username)}
${failureText(failure)}
<form method="post" action="/v1/oauth/authorize">
<input type="hidden" name="request" value="${escapeHtml(form)}">
<label for="code">Six digits that your authenticator app shows for ${escapeHtml(username)}</label>
<input id="code" name="code" ${rules}${description}>
<button type="submit" name="decision" value="allow">Go on</button>
<button type="submit" name="decision" value="deny" formnovalidate>Cancel</button>
</form>`,
  )
}

const setUp = (secret: string, username: string): string => {
  const instruction = 'Scan this code with an authenticator app, or type the key into it.'
  const code = renderSVG(setUpAddress(secret, username), { pixelSize: 4 })
  return `<p>Your company asks for a second factor. ${instruction}</p>
<div class="qr" role="img" aria-label="QR code with the key below">${code}</div>
<p>Key: <code>${secret.replace(/.{4}(?=.)/g, '$& ')}</code></p>`
}

/** Problems as a page for browsers. */
export const problemPageForm = (isHttps: boolean): ProblemForm => ({
  contentType: HTML_TYPE,
  headers: pageHeaders(isHttps),
  write: ({ detail, error_code, trace_id }) =>
    htmlPage(
      'Sign-in failed',
      `<p role="alert">${escapeHtml(detail)}</p>
<p>Return to the application and start again. If you ask for help, quote: ${error_code} ${trace_id}</p>`,
    ),
})
