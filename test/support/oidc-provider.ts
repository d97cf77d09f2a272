/**
 * A real OpenID provider (`oidc-provider`) on a port of its own: who is signed in there, and with which claims, is up
 * to the test.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'

export interface Account {
  readonly sub: string
  readonly claims: Readonly<Record<string, unknown>>
}

export interface OpenIdProvider {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** Who signs in next; undefined: the person cancels. */
  person: Account | undefined
  /** Sign-ins at the provider so far: it asks again only when it must. */
  readonly asked: () => number
  /** Registers where its client is sent back to. */
  register(redirectUri: string): void
  /** Ends what the provider's browser has. */
  close(): Promise<void>
}

/** Its client is registered once the service has said its redirect address. */
export async function openOpenIdProvider(): Promise<OpenIdProvider> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const [clientId, clientSecret] = ['attribution', 'a secret of the tests, long enough']
  const accounts = new Map<string, Account>()
  let asked = 0
  const providerWith = (redirectUri: string) =>
    new Provider(issuer, {
      clients: [
        {
          client_id: clientId,
          client_secret: clientSecret,
          redirect_uris: [redirectUri],
          grant_types: ['authorization_code'],
        },
      ],
      claims: {
        openid: ['sub', 'groups', 'auth_time'],
        profile: ['preferred_username'],
        email: ['email', 'email_verified'],
      },
      features: { devInteractions: { enabled: false } },
      pkce: { required: () => true },
      interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
      cookies: { keys: ['tests'] },
      async findAccount(_ctx, sub) {
        const account = accounts.get(sub)
        return account && { accountId: sub, claims: async () => ({ sub, ...account.claims }) }
      },
      async loadExistingGrant(ctx) {
        const grant = new ctx.oidc.provider.Grant({ clientId, accountId: ctx.oidc.session?.accountId ?? '' })
        grant.addOIDCScope('openid profile email')
        await grant.save()
        return grant
      },
    })
  const opened: OpenIdProvider = {
    issuer,
    clientId,
    clientSecret,
    person: undefined,
    asked: () => asked,
    register(redirectUri) {
      provider = providerWith(redirectUri)
      callback = provider.callback()
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  let provider = providerWith(`${issuer}/unused`)
  let callback = provider.callback()
  server.on('request', (request, response) => {
    if (request.url?.startsWith('/interaction/') !== true) return void callback(request, response)
    asked++
    const { person } = opened
    if (person !== undefined) accounts.set(person.sub, person)
    const result = person === undefined ? { error: 'access_denied' } : { login: { accountId: person.sub } }
    void provider.interactionFinished(request, response, result)
  })
  return opened
}
