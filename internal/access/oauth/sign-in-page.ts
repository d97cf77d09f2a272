import type { Scope } from '../../auth/scopes.js'
import { escapeHtml, HTML_TYPE, htmlPage, pageHeaders } from '../../http/html.js'
import type { ProblemForm } from '../../problems/render.js'

/** What the page says: who asks for what, and what was wrong before. */
export interface SignInPage {
  readonly clientName: string
  readonly redirectUri: string
  readonly scopes: readonly Scope[]
  /** The hidden field. */
  readonly form: string
  /** What was typed before; never the password. */
  readonly username: string
  /** Why the person sees the page again; empty the first time. */
  readonly failure: string
}

const MEANING: Readonly<Record<Scope, string>> = {
  'read:attribution': 'Read attribution records and coverage',
  'read:reporting': 'Read reports and aggregated figures',
  'export:create': 'Create exports and download them',
  'webhooks:manage': 'Manage webhook endpoints',
  'admin:config': 'Change keys, budgets and settings of the tenant',
}

/** CSP knows no IPv6 addresses: a loopback one is covered by its scheme. */
export function formTargetOf(redirectUri: string): string {
  const { origin, hostname } = new URL(redirectUri)
  return hostname.startsWith('[') ? 'http:' : origin
}

export const signInPage = ({ clientName, redirectUri, scopes, form, username, failure }: SignInPage): string =>
  htmlPage(
    'Sign in',
    `<p><strong>${escapeHtml(clientName)}</strong> at ${escapeHtml(new URL(redirectUri).host)} asks for access to:</p>
<ul>${scopes.map((scope) => `<li>${MEANING[scope]}</li>`).join('')}</ul>
${failure === '' ? '' : `<p class="failure" role="alert" id="failure">${escapeHtml(failure)}</p>`}
<form method="post" action="/v1/oauth/authorize">
<input type="hidden" name="request" value="${escapeHtml(form)}">
<label for="username">User name</label>
<input id="username" name="username" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="128" value="${escapeHtml(username)}"${failure === '' ? ' autofocus' : ''}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required maxlength="256"${failure === '' ? '' : ' aria-describedby="failure" autofocus'}>
<button type="submit" name="decision" value="allow">Sign in and allow</button>
<button type="submit" name="decision" value="deny" formnovalidate>Cancel</button>
</form>`,
  )

/** Problems as a browser shows them. */
export const problemPageForm = (isHttps: boolean): ProblemForm => ({
  contentType: HTML_TYPE,
  headers: pageHeaders(isHttps),
  write: ({ detail, error_code, trace_id }) =>
    htmlPage(
      'Sign-in is not possible',
      `<p role="alert">${escapeHtml(detail)}</p>
<p>Go back to the application and start again. When you ask for help, say this: ${error_code} ${trace_id}</p>`,
    ),
})
