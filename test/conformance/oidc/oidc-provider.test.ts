/** A certified OpenID provider, as it is: people sign in there. */
import { type Ask, askAs } from '../../support/ask.js'
import { openBrowser } from '../../support/browser.js'
import { packageVersion } from '../../support/conformance/pins.js'
import { conformance } from '../../support/conformance/program.js'
import { setIdentityProvider } from '../../support/instance.js'
import { beginFlow } from '../../support/oauth-client.js'
import { openOpenIdProvider } from '../../support/oidc-provider.js'
import { linkOn, overProvider, tokenOverProvider } from '../../support/over-provider.js'
import { newTenantOfProduct } from '../../support/product.js'
import type { Instance } from '../../support/service.js'

const ADA = { sub: 'subject-of-ada', claims: { preferred_username: 'ada', groups: ['finance'] } }

conformance(
  {
    name: 'oidc-provider',
    version: packageVersion('oidc-provider'),
    tries: 'set-up check; code flow with PKCE, `nonce`, `iss`; groups in the user info; `max_age`; a refusal',
  },
  async () => {
    const service = await newTenantOfProduct()
    const ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
    const provider = await openOpenIdProvider()
    try {
      const id = await set(service, provider)
      await untilShown(service, ask, id)
      const works: Record<string, () => Promise<boolean>> = {
        'set-up check': async () => {
          const { json } = await ask('POST', `/api/v1/identity-providers/${id}/check`)
          return json.findings.every(({ verdict }: { verdict: string }) => verdict !== 'does_not_work')
        },
        'sign-in': async () => {
          provider.person = ADA
          return (await tokenOverProvider(service)).scope === 'read:reporting'
        },
        'a recent sign-in asks the person again': async () => {
          const browser = openBrowser()
          await overProvider(service, undefined, {}, browser)
          const asked = provider.asked()
          await overProvider(service, undefined, { max_age: '0' }, browser)
          return provider.asked() === asked + 1
        },
        'a person who cancels': async () => {
          provider.person = undefined
          return (await overProvider(service)).location.searchParams.get('error') === 'access_denied'
        },
      }
      const checks = new Map<string, string | undefined>()
      for (const [what, check] of Object.entries(works)) {
        const fault = await check().then(
          (isFine) => (isFine ? undefined : 'not so'),
          (cause: unknown) => String(cause),
        )
        checks.set(what, fault)
      }
      return checks
    } finally {
      await provider.close()
    }
  },
)

/** @returns the id of the provider */
async function set(service: Instance, provider: Awaited<ReturnType<typeof openOpenIdProvider>>): Promise<string> {
  const groups = [{ group: 'finance', scopes: ['read:reporting'] }]
  const stated = { name: 'Example SSO', issuer: provider.issuer, client_id: provider.clientId, groups }
  const { lines } = await setIdentityProvider(service, stated, provider.clientSecret)
  const [path = '', id = ''] = /\/v1\/oauth\/callback\/(idp_\w+)$/.exec(lines[0] ?? '') ?? []
  provider.register(service.baseUrl + path)
  return id
}

async function untilShown(service: Instance, ask: Ask, id: string): Promise<void> {
  while ((await ask('GET', '/api/v1/settings')).json.identity_provider?.id !== id);
  const { address } = await beginFlow(service)
  while (linkOn(await openBrowser().open(address)) === '');
}
