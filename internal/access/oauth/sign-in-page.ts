import type { Scope } from '../../auth/scopes.js'
import { escapeHtml, HTML_TYPE, htmlPage, pageHeaders } from '../../http/html.js'
import type { ProblemForm } from '../../problems/render.js'

/** The content of the page: who requests which access, and why an earlier attempt failed. */
export interface SignInPage {
  readonly clientName: string
  readonly redirectUri: string
  readonly scopes: readonly Scope[]
  /** The hidden field. */
  readonly form: string
  /** As typed before; the password is never repeated. */
  readonly username: string
  /** Why the attempt failed; empty the first time. */
  readonly failure: string
}

const MEANING: Readonly<Record<Scope, string>> = {
  'read:attribution': 'Read attribution records and coverage',
  'read:reporting': 'Read reports and aggregated figures',
  'export:create': 'Create exports and download them',
  'webhooks:manage': 'Manage webhook endpoints',
  'admin:config': 'Change keys, budgets and settings of the tenant',
}

/** CSP cannot express IPv6 addresses: for the loopback one it allows the scheme. */
export function formTargetOf(redirectUri: string): string {
  const { origin, hostname } = new URL(redirectUri)
  return hostname.startsWith('[') ? 'http:' : origin
}

export const signInPage = ({ clientName, redirectUri, scopes, form, username, failure }: SignInPage): string =>
  htmlPage(
    'Sign in',
    `<p><strong>${escapeHtml(clientName)}</strong> at ${escapeHtml(new URL(redirectUri).host)} requests access to:</p>
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
