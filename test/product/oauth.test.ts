import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import * as client from 'openid-client'
import { beforeAll, describe, expect, test } from 'vitest'
import { ask } from '../support/ask.js'
import { type Answer, openBrowser } from '../support/browser.js'
import { adminFields, beginFlow, beginFlowOf, discover, redeem, signIn } from '../support/oauth-client.js'
import { newTenantOfProduct, REQUESTS_PER_SECOND } from '../support/product.js'
import type { Instance } from '../support/service.js'

const CALLBACK = 'http://127.0.0.1:51004/callback'
const RECORDS = '/v1/attribution'

let service: Instance

beforeAll(async () => {
  service = await newTenantOfProduct()
})

const statusWith = async (token: string): Promise<number> =>
  (await fetch(service.baseUrl + RECORDS, { headers: { authorization: `Bearer ${token}` } })).status

const postToken = (fields: Record<string, string> | string, headers: Record<string, string> = {}) =>
  fetch(`${service.baseUrl}/v1/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams(fields),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  })

const credentialFields = (): Record<string, string> => ({
  client_id: service.credentials.client_id,
  client_secret: service.credentials.client_secret,
})

describe('discovery', () => {
  test('discovery serves RFC 8414 metadata whose issuer is its own address', async () => {
    const answer = await fetch(`${service.baseUrl}/.well-known/oauth-authorization-server`)

    expect(answer.headers.get('cache-control')).toBe('public, max-age=300')
    expect(await answer.json()).toMatchObject({
      issuer: service.baseUrl,
      token_endpoint: `${service.baseUrl}/v1/oauth/token`,
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
    })
  })

  test('the JWKS verifies tokens, holds no private member, and is revalidated with 304', async () => {
    const address = (await discover(service)).serverMetadata().jwks_uri as string
    const answer = await fetch(address)
    const jwks = (await answer.json()) as { keys: Record<string, string>[] }
    const etag = answer.headers.get('etag') as string
    const again = await fetch(address, { headers: { 'if-none-match': etag } })
    const { access_token: token } = await client.clientCredentialsGrant(await discover(service))

    expect(jwks.keys).toHaveLength(2)
    for (const key of jwks.keys) expect(Object.keys(key).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use'])
    expect(again.status).toBe(304)
    const { protectedHeader } = await jwtVerify(token, createLocalJWKSet(jwks as never), {
      issuer: service.baseUrl,
      audience: 'urn:attribution:production',
      typ: 'at+jwt',
      algorithms: ['RS256'],
    })
    expect(protectedHeader).toEqual({ alg: 'RS256', typ: 'at+jwt', kid: jwks.keys[0]?.['kid'] })
  })
})

describe('client credentials', () => {
  test.each([
    ['client_secret_basic', client.ClientSecretBasic],
    ['client_secret_post', client.ClientSecretPost],
  ] as const)('by %s get a token that opens the API', async (_, authentication) => {
    const tokens = await client.clientCredentialsGrant(await discover(service, authentication), {
      scope: 'read:attribution',
    })

    expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 900, scope: 'read:attribution' })
    expect(tokens.refresh_token).toBeUndefined()
    expect(await statusWith(tokens.access_token)).toBe(200)
  })

  test('a client that requests no scope gets all its scopes, named in the answer', async () => {
    const { scope } = await client.clientCredentialsGrant(await discover(service))

    expect(scope?.split(' ')).toHaveLength(5)
  })

  test('an access token has exactly the claims of RFC 9068 and the specification', async () => {
    const { client_id, tenant_id } = service.credentials
    const { access_token } = await client.clientCredentialsGrant(await discover(service), { scope: 'read:reporting' })
    const claims = decodeJwt(access_token)

    expect(claims).toEqual({
      iss: service.baseUrl,
      aud: 'urn:attribution:production',
      sub: client_id,
      client_id,
      tenant_id,
      scope: 'read:reporting',
      jti: expect.stringMatching(/^[A-Za-z0-9_-]{22}$/),
      iat: expect.any(Number),
      nbf: claims.iat,
      exp: (claims.iat as number) + 900,
    })
  })

  test('a token grants nothing beyond its scope, and the refusal names the missing scope', async () => {
    const { access_token } = await client.clientCredentialsGrant(await discover(service), { scope: 'read:reporting' })
    const answer = await fetch(service.baseUrl + RECORDS, { headers: { authorization: `Bearer ${access_token}` } })

    expect(answer.status).toBe(403)
    expect(answer.headers.get('www-authenticate')).toBe(
      'Bearer realm="attribution", error="insufficient_scope", scope="read:attribution"',
    )
  })

  test('every token answer carries the budget of the client', async () => {
    const answer = await postToken({ grant_type: 'client_credentials', ...credentialFields() })

    expect(answer.headers.get('ratelimit-limit')).toBe(String(4 * REQUESTS_PER_SECOND))
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })
})

describe('a token request that cannot be granted', () => {
  test.each([
    ['without a grant', {}, 400, 'invalid_request'],
    ['for another grant', { grant_type: 'password', username: 'a', password: 'b' }, 400, 'unsupported_grant_type'],
    ['for an unknown scope', { grant_type: 'client_credentials', scope: 'read:everything' }, 400, 'invalid_scope'],
    ['with a wrong secret', { grant_type: 'client_credentials', client_secret: 'x' }, 401, 'invalid_client'],
    ['with a code of nobody', { grant_type: 'authorization_code', code: 'x' }, 400, 'invalid_grant'],
    ['with a refresh token of nobody', { grant_type: 'refresh_token', refresh_token: 'rt_x' }, 400, 'invalid_grant'],
  ] as const)('%s gets the error of both standards', async (_, fields, status, error) => {
    const answer = await postToken({ ...credentialFields(), ...fields })

    expect(answer.status).toBe(status)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('www-authenticate')).toBe(status === 401 ? 'Basic realm="attribution"' : null)
    expect(await answer.json()).toMatchObject({
      error,
      error_description: expect.stringMatching(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/),
      status,
      error_code: status === 401 ? 'INVALID_CREDENTIALS' : 'MALFORMED_REQUEST',
      instance: '/v1/oauth/token',
      trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      tenant_id: status === 401 ? null : service.credentials.tenant_id,
    })
  })

  test.each([
    ['application/json', 'application/json'],
    ['application/json;q=0', 'application/problem+json'],
    ['*/*', 'application/problem+json'],
  ])('is answered to Accept: %s as %s', async (accept, expected) => {
    const answer = await postToken({ ...credentialFields(), grant_type: 'x' }, { accept })

    expect(answer.headers.get('content-type')).toBe(expected)
  })

  test.each([
    ['twice the same parameter', 'grant_type=client_credentials&grant_type=client_credentials', {}, 400],
    ['broken percent-encoding', 'grant_type=%zz', {}, 400],
    ['JSON', '{"grant_type":"client_credentials"}', { 'content-type': 'application/json' }, 415],
    ['more than 16 KiB', `grant_type=${'x'.repeat(17_000)}`, {}, 413],
  ] as const)('because of %s has an OAuth error code as well', async (_, body, headers, status) => {
    const answer = await fetch(`${service.baseUrl}/v1/oauth/token`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    })

    expect(answer.status).toBe(status)
    expect(await answer.json()).toMatchObject({ error: 'invalid_request', status })
  })

  test('a token request with parameters in the query is refused', async () => {
    const query = new URLSearchParams({ grant_type: 'client_credentials', ...credentialFields() })
    const answer = await fetch(`${service.baseUrl}/v1/oauth/token?${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })

    expect(await answer.json()).toMatchObject({ error: 'invalid_request' })
  })

  test('a token request that authenticates in two ways is refused', async () => {
    const { client_id, client_secret } = service.credentials
    const authorization = `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`
    const answer = await postToken({ grant_type: 'client_credentials', ...credentialFields() }, { authorization })

    expect(await answer.json()).toMatchObject({ error: 'invalid_request' })
  })

  test('a token request with a wrong secret reaches openid-client as a challenge', async () => {
    const config = await client.discovery(
      new URL(service.baseUrl),
      service.credentials.client_id,
      undefined,
      client.ClientSecretPost('wrong'),
      { algorithm: 'oauth2', execute: [client.allowInsecureRequests] },
    )

    await expect(client.clientCredentialsGrant(config)).rejects.toMatchObject({
      code: 'OAUTH_WWW_AUTHENTICATE_CHALLENGE',
      cause: [{ scheme: 'basic', parameters: { realm: 'attribution' } }],
      status: 401,
    })
  })

  test('after many wrong secrets from one address token requests get 429; a right secret is still served', async () => {
    const wrong = { ...credentialFields(), grant_type: 'client_credentials', client_secret: 'wrong' }
    const answers = await Promise.all(Array.from({ length: 60 }, () => postToken(wrong)))
    const limited = answers.find(({ status }) => status === 429)

    expect(limited?.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect(limited?.headers.get('ratelimit-remaining')).toBe('0')
    expect(await limited?.json()).toMatchObject({ error: 'temporarily_unavailable', error_code: 'RATE_LIMITED' })
    expect((await postToken({ ...credentialFields(), grant_type: 'client_credentials' })).status).toBe(200)
  })
})

describe('the sign-in page', () => {
  const expectPage = ({ headers, text }: Answer): void => {
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('content-security-policy')).toMatch(/default-src 'none';.*frame-ancestors 'none'/)
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(text).not.toContain('<script')
    expect(text).toContain('<html lang="en">')
  }

  test('the sign-in page names the client and the scopes, and its form may redirect to that client only', async () => {
    const answer = await openBrowser().open((await beginFlow(service)).address)

    expect(answer.status).toBe(200)
    expectPage(answer)
    expect(answer.text).toContain('First client, made at the first start')
    expect(answer.text).toContain('127.0.0.1:51004')
    expect(answer.headers.get('content-security-policy')).toContain("form-action 'self' http://127.0.0.1:51004")
    expect(answer.headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Lax$/)
    for (const id of ['username', 'password']) expect(answer.text).toContain(`<label for="${id}">`)
  })

  test.each([
    ['a client that is not known', { client_id: 'cli_x' }],
    ['an address that is not registered', { redirect_uri: 'https://attacker.example/callback' }],
    ['a registered address with more behind it', { redirect_uri: `${CALLBACK}/more` }],
    ['localhost for 127.0.0.1', { redirect_uri: 'http://localhost:51004/callback' }],
  ])('redirects nobody to %s', async (_, more) => {
    const { address } = await beginFlow(service)
    for (const [name, value] of Object.entries(more)) address.searchParams.set(name, value as string)

    const shown = await openBrowser().open(address)
    const plain = await fetch(address, { redirect: 'manual' })

    expect(shown).toMatchObject({ status: 400, location: undefined })
    expectPage(shown)
    expect(plain.headers.get('content-type')).toBe('application/problem+json')
    expect(await plain.json()).toMatchObject({ error: 'invalid_request', error_code: 'MALFORMED_REQUEST' })
  })

  test.each([
    ['no PKCE', { code_challenge: '' }, 'invalid_request'],
    ['plain PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['the implicit flow', { response_type: 'token' }, 'unsupported_response_type'],
    ['an unknown scope', { scope: 'openid' }, 'invalid_scope'],
  ])('tells the client of %s, with state and issuer', async (_, more, error) => {
    const { address, state } = await beginFlow(service)
    for (const [name, value] of Object.entries(more)) address.searchParams.set(name, value)

    const { status, location } = await openBrowser().open(address)

    expect(status).toBe(303)
    expect(`${location?.origin}${location?.pathname}`).toBe(CALLBACK)
    expect(Object.fromEntries(location?.searchParams ?? [])).toMatchObject({ error, state, iss: service.baseUrl })
  })

  test('the sign-in page answers a wrong password and a wrong name alike and keeps the form', async () => {
    const browser = openBrowser()
    await browser.open((await beginFlow(service)).address)

    const wrongPassword = await browser.submit({ ...adminFields(service), password: 'wrong' })
    const wrongName = await browser.submit({ ...adminFields(service), username: '<nobody>' })

    for (const answer of [wrongPassword, wrongName]) {
      expect(answer.status).toBe(401)
      expectPage(answer)
      expect(answer.text).toContain('role="alert"')
      expect(answer.text).toContain('The user name or password is wrong.')
      expect(answer.text).not.toContain('wrong"')
    }
    expect(wrongName.text).toContain('&lt;nobody&gt;')
    expect((await browser.submit(adminFields(service))).status).toBe(303)
  })

  test('the sign-in page refuses a form from another browser, without a cookie, or from another origin', async () => {
    const { address } = await beginFlow(service)
    const [victim, attacker] = [openBrowser(), openBrowser()]
    await victim.open(address)
    const page = await attacker.open(address)
    const request = /name="request" value="([^"]+)"/.exec(page.text)?.[1] as string

    const swapped = await victim.submit({ ...adminFields(service), request })
    const bare = await fetch(`${service.baseUrl}/v1/oauth/authorize`, {
      method: 'POST',
      body: new URLSearchParams({ ...adminFields(service), request }),
    })
    const fromElsewhere = await attacker.submit(adminFields(service), { 'sec-fetch-site': 'cross-site' })

    expect([swapped.status, bare.status, fromElsewhere.status]).toEqual([400, 400, 400])
  })

  test('a user can deny the request, and the client is notified', async () => {
    const { address, state } = await beginFlow(service)
    const browser = openBrowser()
    await browser.open(address)

    const { location } = await browser.submit({ decision: 'deny' })

    expect(Object.fromEntries(location?.searchParams ?? [])).toMatchObject({ error: 'access_denied', state })
  })

  test('sign-in blocks guesses after ten consecutive failures for a user', async () => {
    const browser = openBrowser()
    await browser.open((await beginFlow(service)).address)
    for (let i = 0; i < 10; i++)
      await browser.submit({ username: 'somebody', password: `guess ${i}`, decision: 'allow' })

    const eleventh = await browser.submit({ username: 'somebody', password: 'right?', decision: 'allow' })

    expect(eleventh.status).toBe(429)
    expect(eleventh.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect(eleventh.headers.get('ratelimit-remaining')).toBe('0')
  })
})

describe('the code flow', () => {
  test('the code flow through the sign-in form ends with a token of the user', async () => {
    const flow = await beginFlow(service)
    const location = await signIn(service, flow)
    expect(location.searchParams.get('iss')).toBe(service.baseUrl)

    const tokens = await redeem(flow, location)

    const claims = decodeJwt(tokens.access_token)
    expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 900, scope: 'read:attribution admin:config' })
    expect(claims).toMatchObject({
      sub: expect.stringMatching(/^usr_[0-9a-z]{26}$/),
      client_id: service.credentials.client_id,
      tenant_id: service.credentials.tenant_id,
      auth_time: expect.any(Number),
    })
    expect(await statusWith(tokens.access_token)).toBe(200)
  })

  test('the code flow works with oauth4webapi too', async () => {
    const { client_id, client_secret } = service.credentials
    const options = { [oauth.allowInsecureRequests]: true } as const
    const issuer = new URL(service.baseUrl)
    const found = await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' })
    const server = await oauth.processDiscoveryResponse(issuer, found)
    const flow = await beginFlow(service)
    const location = await signIn(service, flow)
    const who = { client_id }
    const authentication = oauth.ClientSecretBasic(client_secret)

    const callback = oauth.validateAuthResponse(server, who, location, flow.state)
    const granted = await oauth.authorizationCodeGrantRequest(
      server,
      who,
      authentication,
      callback,
      CALLBACK,
      flow.verifier,
      options,
    )
    const tokens = await oauth.processAuthorizationCodeResponse(server, who, granted)

    expect(await statusWith(tokens.access_token)).toBe(200)
  })

  test('a wrong PKCE verifier invalidates the code', async () => {
    const flow = await beginFlow(service)
    const location = await signIn(service, flow)
    const wrong = { ...flow, verifier: client.randomPKCECodeVerifier() }

    await expect(redeem(wrong, location)).rejects.toMatchObject({ error: 'invalid_grant' })
    await expect(redeem(flow, location)).rejects.toMatchObject({ error: 'invalid_grant' })
  })

  test('a reused code revokes the tokens that it issued', async () => {
    const flow = await beginFlow(service)
    const location = await signIn(service, flow)
    const tokens = await redeem(flow, location)

    await expect(redeem(flow, location)).rejects.toMatchObject({ error: 'invalid_grant' })

    expect(await statusWith(tokens.access_token)).toBe(401)
    await expect(client.refreshTokenGrant(flow.config, tokens.refresh_token as string)).rejects.toMatchObject({
      error: 'invalid_grant',
    })
  })

  test('a code that is sent ten times at once is redeemed at most once and leaves no valid token', async () => {
    const flow = await beginFlow(service)
    const location = await signIn(service, flow)

    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => redeem(flow, location)))
    const tokens = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.access_token] : []))

    expect(tokens.length).toBeLessThanOrEqual(1)
    for (const token of tokens) expect(await statusWith(token)).toBe(401)
  })
})

describe('refresh tokens', () => {
  const begin = async () => {
    const flow = await beginFlow(service)
    const tokens = await redeem(flow, await signIn(service, flow))
    const refresh = (token: string, more = {}) => client.refreshTokenGrant(flow.config, token, more)
    return { ...tokens, config: flow.config, refresh, refresh_token: tokens.refresh_token as string }
  }

  test('a refresh rotates the refresh token and keeps the lifetime of the sign-in', async () => {
    const { refresh, refresh_token: first, access_token } = await begin()

    const second = await refresh(first)
    const third = await refresh(second.refresh_token as string)

    expect(new Set([first, second.refresh_token, third.refresh_token]).size).toBe(3)
    expect(decodeJwt(third.access_token)['auth_time']).toBe(decodeJwt(access_token)['auth_time'])
    expect(await statusWith(third.access_token)).toBe(200)
  })

  test('a reused refresh token revokes its whole family, access tokens included', async () => {
    const { refresh, refresh_token: first, access_token } = await begin()
    const second = await refresh(first)

    await expect(refresh(first)).rejects.toMatchObject({ error: 'invalid_grant' })

    await expect(refresh(second.refresh_token as string)).rejects.toMatchObject({ error: 'invalid_grant' })
    expect(await statusWith(access_token)).toBe(401)
    expect(await statusWith(second.access_token)).toBe(401)
  })

  test('a refresh can narrow the scope and never widen it', async () => {
    const { refresh, refresh_token } = await begin()

    await expect(refresh(refresh_token, { scope: 'read:attribution export:create' })).rejects.toMatchObject({
      error: 'invalid_scope',
    })
    const narrowed = await refresh(refresh_token, { scope: 'read:attribution' })

    expect(narrowed.scope).toBe('read:attribution')
  })

  test('a forged refresh token ends no session', async () => {
    const { refresh, refresh_token } = await begin()
    const last = refresh_token.at(-6) === 'A' ? 'B' : 'A'
    const forged = `${refresh_token.slice(0, -6)}${last}${refresh_token.slice(-5)}`

    await expect(refresh(forged)).rejects.toMatchObject({ error: 'invalid_grant' })

    expect((await refresh(refresh_token)).access_token).toBeDefined()
  })

  test('revoking a refresh token revokes the access tokens of its sign-in', async () => {
    const { config, refresh, refresh_token, access_token } = await begin()
    expect(await statusWith(access_token)).toBe(200)

    await client.tokenRevocation(config, refresh_token)

    expect(await statusWith(access_token)).toBe(401)
    await expect(refresh(refresh_token)).rejects.toMatchObject({ error: 'invalid_grant' })
  })
})

describe('revocation', () => {
  test('revoking an access token ends only that token, at once', async () => {
    const config = await discover(service)
    const [one, other] = [await client.clientCredentialsGrant(config), await client.clientCredentialsGrant(config)]
    expect(await statusWith(one.access_token)).toBe(200)

    await client.tokenRevocation(config, one.access_token)

    expect(await statusWith(one.access_token)).toBe(401)
    expect(await statusWith(other.access_token)).toBe(200)
  })

  test('revoking an unknown token succeeds', async () => {
    await expect(client.tokenRevocation(await discover(service), 'whatever')).resolves.toBeUndefined()
  })
})

test('the audit log records sign-ins, issued tokens and refusals, without secrets', async () => {
  const { credentials, baseUrl } = service
  const wanted = [
    'session.sign_in succeeded',
    'session.sign_in refused',
    'token.issue succeeded',
    'token.issue refused',
  ]
  const more = ['token.refresh succeeded', 'token.refresh refused', 'token.revoke succeeded']
  const missing = new Set([...wanted, ...more])
  let text = ''
  while (missing.size > 0) {
    let cursor = ''
    do {
      const address = `${baseUrl}/api/v1/audit-log?limit=200${cursor}`
      text = await (await fetch(address, { headers: { 'x-api-key': credentials.api_key } })).text()
      const { data, page } = JSON.parse(text) as {
        data: { action: string; outcome: string }[]
        page: { next_cursor?: string }
      }
      for (const { action, outcome } of data) missing.delete(`${action} ${outcome}`)
      for (const secret of [credentials.client_secret, credentials.admin_password, 'eyJ', 'rt_']) {
        expect(text).not.toContain(secret)
      }
      cursor = page.next_cursor === undefined ? '' : `&cursor=${page.next_cursor}`
    } while (cursor !== '')
  }
})

describe('a public client', () => {
  const NATIVE = 'com.example.app:/callback'
  let id: string
  beforeAll(async () => {
    const { status, json } = await ask(
      service.baseUrl,
      'POST',
      '/api/v1/clients',
      { 'x-api-key': service.credentials.api_key },
      {
        name: 'An app',
        type: 'public',
        scopes: ['read:attribution'],
        grant_types: ['authorization_code', 'refresh_token'],
        redirect_uris: ['https://app.example/callback', 'http://127.0.0.1/callback', NATIVE],
      },
    )
    expect(status).toBe(201)
    expect(json).toMatchObject({ type: 'public', last_four: null })
    expect(json.client_secret).toBeUndefined()
    id = json.id
  })
  const config = () =>
    client.discovery(new URL(service.baseUrl), id, undefined, client.None(), {
      algorithm: 'oauth2',
      execute: [client.allowInsecureRequests],
    })

  test.each([['https://app.example/callback'], ['http://127.0.0.1:49321/callback'], [NATIVE]])(
    'signs a person in with openid-client at %s, refreshes, and is signed out when a refresh token is used twice',
    async (redirectUri) => {
      const flow = await beginFlowOf(await config(), redirectUri, 'read:attribution')
      expect(flow.config.serverMetadata().token_endpoint_auth_methods_supported).toContain('none')
      const location = await signIn(service, flow)
      expect(location.href.startsWith(redirectUri)).toBe(true)

      const tokens = await redeem(flow, location)
      expect(tokens.scope).toBe('read:attribution')
      expect(await statusWith(tokens.access_token)).toBe(200)
      const refreshed = await client.refreshTokenGrant(flow.config, tokens.refresh_token as string)
      expect(refreshed.refresh_token).not.toBe(tokens.refresh_token)
      expect(await statusWith(refreshed.access_token)).toBe(200)

      const again = client.refreshTokenGrant(flow.config, tokens.refresh_token as string)
      await expect(again).rejects.toMatchObject({ error: 'invalid_grant' })
      expect(await statusWith(refreshed.access_token)).toBe(401)
    },
  )

  test('signs a person in with oauth4webapi, and revokes its own token', async () => {
    const options = { [oauth.allowInsecureRequests]: true } as const
    const issuer = new URL(service.baseUrl)
    const found = await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' })
    const server = await oauth.processDiscoveryResponse(issuer, found)
    const flow = await beginFlowOf(await config(), NATIVE, 'read:attribution')
    const callback = oauth.validateAuthResponse(server, { client_id: id }, await signIn(service, flow), flow.state)
    const who = { client_id: id }
    const granted = await oauth.authorizationCodeGrantRequest(
      server,
      who,
      oauth.None(),
      callback,
      NATIVE,
      flow.verifier,
      options,
    )
    const tokens = await oauth.processAuthorizationCodeResponse(server, who, granted)
    expect(await statusWith(tokens.access_token)).toBe(200)

    const revoked = await oauth.revocationRequest(server, who, oauth.None(), tokens.refresh_token as string, options)
    await oauth.processRevocationResponse(revoked)
    expect(await statusWith(tokens.access_token)).toBe(401)
  })

  test('gets nothing without the verifier of its code, nor by client credentials', async () => {
    const flow = await beginFlowOf(await config(), NATIVE, 'read:attribution')
    const code = (await signIn(service, flow)).searchParams.get('code') as string
    const fields = { grant_type: 'authorization_code', client_id: id, code, redirect_uri: NATIVE }

    expect(await (await postToken(fields)).json()).toMatchObject({ error: 'invalid_grant' })
    const itself = await postToken({ grant_type: 'client_credentials', client_id: id })
    expect(await itself.json()).toMatchObject({ error: 'unauthorized_client' })
  })

  test('is answered 429 for an address that sends too much, and other clients are still served', async () => {
    const answers = await Promise.all(
      Array.from({ length: 130 }, () =>
        postToken({ grant_type: 'refresh_token', client_id: id, refresh_token: 'rt_x' }),
      ),
    )

    expect(answers.some(({ status }) => status === 429)).toBe(true)
    expect((await postToken({ grant_type: 'client_credentials', ...credentialFields() })).status).toBe(200)
  })
})
