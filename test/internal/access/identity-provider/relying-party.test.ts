import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { personOf } from '../../../../internal/access/identity-provider/claims.js'
import type { StoredProvider } from '../../../../internal/access/identity-provider/provider.js'
import {
  type Began,
  ProviderRefused,
  ProviderUnavailable,
  relyingParty,
} from '../../../../internal/access/identity-provider/relying-party.js'
import { play, type Recorded, type ScriptedProvider, scriptedProvider } from '../../../support/scripted-provider.js'

const BASE = 'https://attribution.example.com'
const SECRET = 'the secret of the client'
let provider: ScriptedProvider
beforeEach(async () => {
  provider = await scriptedProvider()
})

const party = () => relyingParty({ baseUrl: BASE, secretOf: () => SECRET, clock: Date.now })
const began = (more: Partial<Began> = {}): Began => ({
  state: 'state',
  nonce: 'nonce',
  verifier: 'v'.repeat(43),
  maxAgeS: undefined,
  asksAgain: false,
  ...more,
})
const nowS = (): number => Math.floor(Date.now() / 1_000)

/** Signs in as far as the claims. */
async function signedIn(stored: StoredProvider = provider.stored(), more: Readonly<Record<string, string>> = {}) {
  const service = party()
  const address = await service.begin(stored, began())
  return service.finish(stored, provider.answer(address, more), began())
}
const outcome = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'taken',
    (cause: Error) => cause,
  )

describe('what a provider is asked', () => {
  test('is its own redirect address, the scopes that are set, and a new sign-in where an old one would not do', async () => {
    const stored = provider.stored({ scope: 'openid groups', id: 'idp_7' })
    const asked = async (more: Partial<Began>) =>
      Object.fromEntries((await party().begin(stored, began(more))).searchParams)

    expect(await asked({})).toMatchObject({
      redirect_uri: `${BASE}/v1/oauth/callback/idp_7`,
      scope: 'openid groups',
      response_type: 'code',
      code_challenge_method: 'S256',
      state: 'state',
      nonce: 'nonce',
    })
    expect(await asked({})).not.toHaveProperty('prompt')
    expect(await asked({ maxAgeS: 900 })).toMatchObject({ max_age: '900' })
    expect(await asked({ maxAgeS: 900, asksAgain: true })).toMatchObject({ max_age: '900', prompt: 'login' })
    expect(await asked({ maxAgeS: 0 })).toMatchObject({ max_age: '0', prompt: 'login' })
  })

  test('has the client secret in the form or in the header, as the provider takes it or the operator says', async () => {
    const wayOf = async (methods: readonly string[] | undefined, stated?: StoredProvider['client_authentication']) => {
      provider.script.metadata = { token_endpoint_auth_methods_supported: methods }
      await signedIn(provider.stored({ ...(stated && { client_authentication: stated }) }))
      const { authorization, form } = provider.redeemed.at(-1) ?? { form: new URLSearchParams() }
      return authorization === undefined ? form.get('client_secret') : authorization.split(' ')[0]
    }

    expect(await wayOf(undefined)).toBe(SECRET)
    expect(await wayOf(['client_secret_basic', 'client_secret_post'])).toBe(SECRET)
    expect(await wayOf(['client_secret_basic'])).toBe('Basic')
    expect(await wayOf(['client_secret_post', 'client_secret_basic'], 'client_secret_basic')).toBe('Basic')
  })
})

describe('a hostile provider', () => {
  test.each([
    ['answers with the iss of another (mix-up)', { iss: 'https://honest.example.com' }],
    ['answers with another state', { state: 'of another' }],
  ])('that %s is refused', async (_, more) => {
    expect(await outcome(signedIn(provider.stored(), more))).toBeInstanceOf(ProviderRefused)
    expect(provider.redeemed).toEqual([])
  })

  test.each(['foreign', 'none', 'cut'] as const)(
    'whose ID token has a signature that is %s is refused',
    async (kind) => {
      provider.script.signature = kind

      expect(await outcome(signedIn())).toBeInstanceOf(ProviderRefused)
    },
  )

  test.each<[string, () => Record<string, unknown>]>([
    ['issued in the future', () => ({ iat: nowS() + 300 })],
    ['issued an hour ago', () => ({ iat: nowS() - 3_600 })],
    ['that has expired', () => ({ exp: nowS() - 300 })],
    ['not valid yet', () => ({ nbf: nowS() + 300 })],
    ['without iat', () => ({ iat: undefined })],
    ['without exp', () => ({ exp: undefined })],
    ['of another issuer', () => ({ iss: 'https://honest.example.com' })],
    ['for another client', () => ({ aud: 'another' })],
    ['for another sign-in', () => ({ nonce: 'of another' })],
    ['of nobody', () => ({ sub: undefined })],
  ])('with an ID token %s is refused', async (_, claims) => {
    provider.script.idToken = claims()

    expect(await outcome(signedIn())).toBeInstanceOf(ProviderRefused)
  })

  test('whose user info is of another person is refused', async () => {
    provider.script.idToken = {}
    provider.script.userInfo = { sub: 'somebody else', preferred_username: 'ada', groups: ['finance'] }

    expect(await outcome(signedIn())).toBeInstanceOf(ProviderRefused)
  })

  test('that calls itself otherwise, or is any company’s, is not asked', async () => {
    for (const issuer of ['https://honest.example.com', `${provider.issuer}/{tenantid}/v2.0`]) {
      provider.script.metadata = { issuer }
      expect(await outcome(party().begin(provider.stored(), began()))).toBeInstanceOf(ProviderUnavailable)
    }
  })

  test.each(['/.well-known/openid-configuration', '/token', '/jwks', '/userinfo'])(
    'that answers with 300 MB at %s is not read',
    async (path) => {
      provider.script.endless = new Set([path])
      provider.script.idToken = {}
      const before = process.memoryUsage().arrayBuffers

      expect(await outcome(signedIn())).toBeInstanceOf(Error)
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1024 * 1024)
    },
  )
})

describe('an issuer of Microsoft', () => {
  afterEach(() => vi.unstubAllGlobals())

  /** Begins to sign in at an issuer that calls itself otherwise. */
  function beginAt(issuer: string, calledItself: string): Promise<unknown> {
    const metadata = { issuer: calledItself, authorization_endpoint: 'https://login.example.com/authorize' }
    vi.stubGlobal('fetch', async () => Response.json(metadata))
    return outcome(party().begin(provider.stored({ issuer }), began()))
  }
  const ENTRA = 'https://login.microsoftonline.com'
  const COMPANY = '1d1d1d1d-0000-4000-8000-000000000001'

  test.each([
    [`${ENTRA}/example.com/v2.0`, `${ENTRA}/${COMPANY}/v2.0`],
    [`${ENTRA}/example.com`, `https://sts.windows.net/${COMPANY}/`],
    [`${ENTRA}/${COMPANY}`, `https://sts.windows.net/${COMPANY}/`],
    ['https://example.b2clogin.com/example.com/b2c_1/v2.0', `https://example.b2clogin.com/${COMPANY}/v2.0/`],
  ])('%s may call itself %s', async (issuer, calledItself) => {
    expect(await beginAt(issuer, calledItself)).toBe('taken')
  })

  test.each([
    [`${ENTRA}/common/v2.0`, `${ENTRA}/{tenantid}/v2.0`],
    [`${ENTRA}/organizations/v2.0`, `${ENTRA}/{tenantid}/v2.0`],
    [`${ENTRA}/common`, 'https://sts.windows.net/{tenantid}/'],
    ['https://sso.example.com', `${ENTRA}/${COMPANY}/v2.0`],
  ])('%s may not call itself %s', async (issuer, calledItself) => {
    expect(await beginAt(issuer, calledItself)).toBeInstanceOf(ProviderUnavailable)
  })
})

test('clocks may differ by two minutes', async () => {
  for (const aheadS of [-90, 90]) {
    const atS = nowS() + aheadS
    provider.script.idToken = { iat: atS, nbf: atS, exp: atS + 60, auth_time: atS }
    expect((await signedIn()).authTimeS).toBeLessThanOrEqual(nowS())
  }
})

describe('a recorded exchange', () => {
  const recorded = (name: string): Recorded =>
    JSON.parse(readFileSync(`test/fixtures/identity-providers/${name}.json`, 'utf8'))
  const ADA = { scopes: ['read:reporting'] }
  const finance = (group: string) => ({ groups: [{ group, scopes: ['read:reporting' as const], owner: false }] })

  test.each<[string, Partial<StoredProvider>, object]>([
    ['entra', finance('6a5e0f6e-0000-4000-8000-00000000f1aa'), { username: 'Ada@example.com' }],
    ['okta', { ...finance('finance'), scope: 'openid profile email groups' }, { username: 'ada@example.com' }],
    [
      'auth0',
      { ...finance('finance'), groups_claim: 'https://example.com/roles', username_claim: 'nickname' },
      { username: 'ada' },
    ],
    ['keycloak', finance('/company/finance'), { username: 'ada' }],
    ['keycloak', { ...finance('finance'), groups_claim: 'realm_access.roles' }, { username: 'ada' }],
    ['ping', finance('finance'), { username: 'ada' }],
  ])('of %s signs a person in by %j', async (name, members, person) => {
    play(provider, recorded(name))
    const stored = provider.stored(members)

    const { claims } = await signedIn(stored)

    expect(personOf(stored, claims)).toMatchObject({ ...ADA, ...person })
  })

  test('of Google has a verified address, and no groups', async () => {
    play(provider, recorded('google'))
    const stored = provider.stored({ username_claim: 'email' })

    const { claims, authTimeS } = await signedIn(stored)

    expect(authTimeS).toBeUndefined()
    expect(personOf(stored, claims)).toBe('None of your groups at Example SSO gives access here.')
  })

  test('of Entra without room for the groups says so', async () => {
    const { id_token, ...rest } = recorded('entra')
    const { groups: _, ...others } = id_token
    const left = {
      _claim_names: { groups: 'src1' },
      _claim_sources: { src1: { endpoint: 'https://graph.windows.net/x' } },
    }
    play(provider, { ...rest, id_token: { ...others, ...left } })

    const { claims } = await signedIn()

    expect(personOf(provider.stored(), claims)).toContain('overage')
  })

  test.each(['entra', 'okta', 'google', 'auth0', 'keycloak', 'ping'])(
    'of %s has a description that can be checked',
    async (name) => {
      play(provider, recorded(name))

      const { findings, redirectUri } = await party().check(provider.stored())

      expect(redirectUri).toBe(`${BASE}/v1/oauth/callback/idp_one`)
      const verdicts = Object.fromEntries(findings.map(({ aspect, verdict }) => [aspect, verdict]))
      expect(verdicts).toMatchObject({ description: 'works', sign_in: 'works', signatures: 'works' })
    },
  )
})

test('a check says what the provider cannot be read for', async () => {
  const checked = async () => (await party().check(provider.stored())).findings

  provider.script.metadata = { issuer: 'https://honest.example.com' }
  expect(await checked()).toMatchObject([{ aspect: 'description', verdict: 'does_not_work' }])
  provider.script.metadata = {}
  provider.script.endless = new Set(['/jwks'])
  expect(await checked()).toContainEqual(expect.objectContaining({ aspect: 'signatures', verdict: 'does_not_work' }))
})
