import { renderSVG } from 'uqr'
import { escapeHtml, htmlPage } from '../../http/html.js'
import { setUpAddress } from './second-factor.js'
import { failureText } from './sign-in-page.js'

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

export const codePage = ({ form, username, failure, freshSecret }: CodePage): string =>
  htmlPage(
    freshSecret === undefined ? 'Enter your code' : 'Set up a second factor',
    `${freshSecret === undefined ? '' : setUp(freshSecret, username)}
${failureText(failure)}
<form method="post" action="/v1/oauth/authorize">
<input type="hidden" name="request" value="${escapeHtml(form)}">
<label for="code">Six digits that your authenticator app shows for ${escapeHtml(username)}</label>
<input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" pattern="[0-9 ]*" required maxlength="7" autofocus${failure === '' ? '' : ' aria-describedby="failure"'}>
<button type="submit" name="decision" value="allow">Go on</button>
<button type="submit" name="decision" value="deny" formnovalidate>Cancel</button>
</form>`,
  )

const setUp = (
  secret: string,
  username: string,
): string => `<p>Your company asks for a second factor. Scan this code with an authenticator app, or type the key into it.</p>
<div class="qr" role="img" aria-label="QR code with the key below">${renderSVG(setUpAddress(secret, username), { pixelSize: 4 })}</div>
<p>Key: <code>${secret.replace(/.{4}(?=.)/g, '$& ')}</code></p>`
