import { createHmac, createPublicKey, type KeyObject } from 'node:crypto'
import fc from 'fast-check'
import { jwtVerify } from 'jose'
import { describe, expect, test } from 'vitest'
import { readAccessToken } from '../../../internal/auth/access-tokens.js'
import {
  CLIENT_ID,
  claimsOf,
  findKey,
  HEADER,
  KID,
  PARTIES,
  PERSON,
  PRIVATE_KEY,
  PUBLIC_KEY,
  part,
  STRANGERS_KEY,
  signedParts,
  TENANT_ID,
  token,
  USER_ID,
} from '../../support/access-tokens.js'
import { FUZZ_CASES, FUZZ_MS_MAX } from '../../support/fuzz.js'
import { NOW_MS } from '../../support/invocations.js'

const NOW_S = NOW_MS / 1_000
const read = (text: string, nowMs = NOW_MS) => readAccessToken(text, PARTIES, findKey, nowMs)
const STRANGERS_JWK = createPublicKey(STRANGERS_KEY).export({ format: 'jwk' })
const isTaken = (text: string, nowMs = NOW_MS): boolean => read(text, nowMs) !== undefined

describe('a valid token', () => {
  test('of a client contains its tenant, client and scopes', () => {
    const found = read(token({ scope: 'export:create read:attribution' }))

    expect(found).toMatchObject({ kid: KID, scopes: ['read:attribution', 'export:create'] })
    expect(found?.claims).toMatchObject({ sub: CLIENT_ID, client_id: CLIENT_ID, tenant_id: TENANT_ID })
  })

  test('of a person contains the time and id of the sign-in', () => {
    expect(read(token(PERSON))?.claims).toMatchObject({ sub: USER_ID, sid: PERSON.sid, auth_time: NOW_S - 60 })
  })

  test.each([
    ['that was issued by a clock 30 s ahead', { iat: NOW_S + 30, nbf: NOW_S + 30 }],
    ['that dies within the second', { exp: NOW_S + 1 }],
    ['that lives 60 minutes', { exp: NOW_S + 3_600 }],
    ['with a claim that a newer version adds', { acr: 'pwd' }],
  ])('%s is taken', (_, claims) => {
    expect(isTaken(token(claims))).toBe(true)
  })
})

test('a signature is verified only with permission, which is requested only for correct content', () => {
  let asked = 0
  const readBy = (text: string, may: boolean) =>
    readAccessToken(text, PARTIES, findKey, NOW_MS, () => {
      asked++
      return may
    })

  expect(readBy(token({ exp: NOW_S }), true)).toBeUndefined()
  expect(readBy(token({ aud: 'urn:attribution:sandbox' }), true)).toBeUndefined()
  expect(readBy('garbage', true)).toBeUndefined()
  expect(asked).toBe(0)
  expect(readBy(token(), false)).toBeUndefined()
  expect(readBy(token(), true)).toBeDefined()
  expect(asked).toBe(2)
})

describe('a token is refused', () => {
  test.each([
    ['of another issuer', { iss: 'https://attribution.example/' }],
    ['for another audience', { aud: 'urn:attribution:sandbox' }],
    ['for several audiences', { aud: [PARTIES.audience] }],
    ['without an issuer', { iss: undefined }],
    ['without an audience', { aud: undefined }],
    ['without an expiry', { exp: undefined }],
    ['without a beginning', { nbf: undefined }],
    ['without an issue time', { iat: undefined }],
    ['without a jti', { jti: undefined }],
    ['without a client', { client_id: undefined }],
    ['without a subject', { sub: undefined }],
    ['without a scope', { scope: undefined }],
    ['that has expired in this second', { exp: NOW_S }],
    ['that begins in 31 s', { nbf: NOW_S + 31 }],
    ['that was issued in the future', { iat: NOW_S + 31 }],
    ['that lives over 60 minutes', { exp: NOW_S + 3_601 }],
    ['that was valid long before it was issued', { nbf: NOW_S - 3_000 }],
    ['that lives for ever', { exp: Number.MAX_SAFE_INTEGER }],
    ['whose expiry is a text', { exp: String(NOW_S + 900) }],
    ['whose expiry is a fraction', { exp: NOW_S + 0.5 }],
    ['whose beginning is negative', { nbf: -1 }],
    ['without a tenant', { tenant_id: undefined }],
    ['of an empty tenant', { tenant_id: '' }],
    ['of a tenant null', { tenant_id: null }],
    ['of several tenants', { tenant_id: [TENANT_ID] }],
    ['of an invalid tenant id', { tenant_id: 'usr_1' }],
    ['of a tenant with more behind it', { tenant_id: `${TENANT_ID}\n` }],
    ['whose scopes are a list', { scope: ['read:attribution'] }],
    ['with an empty scope', { scope: '' }],
    ['with an unknown scope', { scope: 'read:attribution read:all' }],
    ['with a scope twice', { scope: 'read:attribution read:attribution' }],
    ['with two spaces between scopes', { scope: 'read:attribution  export:create' }],
    ['with a scope in capitals', { scope: 'READ:ATTRIBUTION' }],
    ['of a person without a sign-in', { sub: USER_ID, auth_time: NOW_S }],
    ['of a person who never signed in', { sub: USER_ID, sid: PERSON.sid }],
    ['of a person who will sign in', { ...PERSON, auth_time: NOW_S + 31 }],
    ['of a client that signed in as a person', { sid: PERSON.sid, auth_time: NOW_S }],
    ['of another client’s name', { sub: `cli_${'0'.repeat(26)}` }],
    ['of an API key', { sub: `key_${'0'.repeat(26)}`, client_id: `key_${'0'.repeat(26)}` }],
    ['with a short jti', { jti: 'x' }],
  ])('%s', (_, claims) => {
    expect(isTaken(token(claims))).toBe(false)
  })

  test.each([
    ['that is not signed', { alg: 'none' }],
    ['with another algorithm', { alg: 'RS512' }],
    ['with HMAC', { alg: 'HS256' }],
    ['of another type', { typ: 'JWT' }],
    ['with the long type', { typ: 'application/at+jwt' }],
    ['without a type', { typ: undefined }],
    ['without a kid', { kid: undefined }],
    ['with an unknown kid', { kid: 'u'.repeat(43) }],
    ['with a kid that names a property of objects', { kid: '__proto__' }],
    ['with a kid that is not a string', { kid: [KID] }],
    ['with critical extensions', { crit: ['exp'] }],
    ['with unencoded claims', { b64: false, crit: ['b64'] }],
    ['with its own key', { jwk: STRANGERS_JWK }],
    ['with the address of its keys', { jku: 'https://attacker.example/jwks.json' }],
    ['with a certificate', { x5c: ['MII'] }],
    ['with the address of a certificate', { x5u: 'https://attacker.example/cert' }],
    ['with any other header parameter', { zip: 'DEF' }],
  ])('%s', (_, header) => {
    expect(isTaken(token({}, header))).toBe(false)
  })

  test.each([
    ['with our kid', {}],
    ['with the key in the header', { jwk: STRANGERS_JWK }],
  ])('that a stranger signed, %s', (_, header) => {
    expect(isTaken(token({}, header, STRANGERS_KEY))).toBe(false)
  })

  test('whose HMAC was made with the public key', () => {
    const signed = `${part({ ...HEADER, alg: 'HS256' })}.${part(claimsOf())}`
    const mac = createHmac('sha256', PUBLIC_KEY.export({ format: 'pem', type: 'spki' })).update(signed)

    expect(isTaken(`${signed}.${mac.digest('base64url')}`)).toBe(false)
  })

  test.each([
    ['with a claim twice', JSON.stringify(claimsOf()).replace('{', '{"tenant_id":"tnt_other",')],
    ['with a claim twice, once escaped', JSON.stringify(claimsOf()).replace('{', '{"tenant\\u005fid":"tnt_other",')],
    ['with an endless expiry', JSON.stringify(claimsOf()).replace(/"exp":\d+/, '"exp":1e999')],
    ['with white space', JSON.stringify(claimsOf(), null, 1)],
    ['with a list of claims', JSON.stringify([claimsOf()])],
    ['with null', 'null'],
    ['with a byte order mark', `\ufeff${JSON.stringify(claimsOf())}`],
    ['with no JSON', 'x'],
  ])('%s', (_, claims) => {
    expect(isTaken(signedParts(part(HEADER), Buffer.from(claims).toString('base64url')))).toBe(false)
  })

  test('whose claims are not UTF-8', () => {
    const bytes = Buffer.from(JSON.stringify(claimsOf({ note: '\xff' })), 'latin1')

    expect(isTaken(signedParts(part(HEADER), bytes.toString('base64url')))).toBe(false)
  })

  test.each([
    ['padding', (text: string) => `${text}==`],
    ['a space at its end', (text: string) => `${text} `],
    ['a line feed at its end', (text: string) => `${text}\n`],
    ['a line feed within its signature', (text: string) => `${text.slice(0, -9)}\n${text.slice(-9)}`],
    ['other unused bits at its end', (text: string) => text.slice(0, -1) + otherTail(text.at(-1) as string)],
    ['a fourth part', (text: string) => `${text}.x`],
    ['no signature', (text: string) => text.replace(/[^.]*$/, '')],
    ['a shorter signature', (text: string) => text.slice(0, -4)],
    ['plain base64', (text: string) => text.replaceAll('-', '+').replaceAll('_', '/')],
    ['its first character changed', (text: string) => `f${text.slice(1)}`],
  ])('with %s', (_, change) => {
    expect(isTaken(change(token()))).toBe(false)
  })

  test('that is as long as a header may be', () => {
    expect(isTaken(token({ note: 'x'.repeat(4_000) }))).toBe(false)
  })
})

/** Another character for the same bytes: 256 bytes leave four bits of the last one unused. */
function otherTail(character: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return alphabet[alphabet.indexOf(character) ^ 1] as string
}

/** Whether jose accepts the token, with all of its options, and our rules that it does not have. */
async function referenceTakes(text: string): Promise<boolean> {
  try {
    const { payload, protectedHeader } = await jwtVerify(
      text,
      ({ kid }) => {
        const key = findKey(kid ?? '')
        if (key === undefined) throw new Error('unknown key')
        return key
      },
      {
        ...PARTIES,
        algorithms: ['RS256'],
        typ: 'at+jwt',
        requiredClaims: ['exp', 'iat', 'nbf', 'sub', 'client_id', 'jti', 'tenant_id', 'scope'],
        clockTolerance: 30,
        currentDate: new Date(NOW_MS),
      },
    )
    const { exp = 0, iat = 0, nbf = 0 } = payload
    const times = [exp, iat, nbf]
    return (
      ['jwk', 'jku', 'x5u', 'x5c', 'crit'].every((name) => protectedHeader[name] === undefined) &&
      times.every((time) => Number.isInteger(time)) &&
      exp > NOW_S &&
      exp - iat <= 3_600 &&
      exp - nbf <= 3_600 &&
      iat <= NOW_S + 30 &&
      typeof payload['tenant_id'] === 'string' &&
      /^tnt_[0-9A-Za-z]+$/.test(payload['tenant_id']) &&
      typeof payload['scope'] === 'string'
    )
  } catch {
    return false
  }
}

const CLAIM_NAMES = Object.keys({ ...claimsOf(), ...PERSON })
const times = fc.oneof(
  fc.integer({ min: NOW_S - 4_000, max: NOW_S + 4_000 }),
  fc.constantFrom(NOW_S, NOW_S + 30, NOW_S + 31, NOW_S + 3_600, NOW_S + 3_601, 0, -1, 0.5, 1e308),
)
const strange: fc.Arbitrary<unknown> = fc.oneof(
  times,
  fc.jsonValue(),
  fc.constantFrom('', null, true, [], {}, TENANT_ID, 'read:attribution', PARTIES.issuer, CLIENT_ID, USER_ID),
)
/** Valid claims with some replaced, removed or added. */
const changedClaims = fc
  .tuple(
    fc.boolean(),
    fc.dictionary(fc.oneof(fc.constantFrom(...CLAIM_NAMES), fc.string({ maxLength: 8 })), strange, { maxKeys: 3 }),
    fc.subarray(CLAIM_NAMES, { maxLength: 1 }),
  )
  .map(([isPerson, changes, left]) => {
    const claims: Record<string, unknown> = { ...claimsOf(isPerson ? PERSON : {}), ...changes }
    for (const name of left) delete claims[name]
    return claims
  })
const changedHeader = fc
  .tuple(
    fc.dictionary(
      fc.constantFrom('alg', 'kid', 'typ', 'crit', 'jwk', 'jku', 'x5u', 'b64', 'cty'),
      fc.oneof(fc.constantFrom('RS256', 'none', 'HS256', KID, 'at+jwt', 'JWT', ['exp']), fc.jsonValue()),
      { maxKeys: 2 },
    ),
    fc.boolean(),
  )
  .map(([changes, isChanged]) => (isChanged ? { ...HEADER, ...changes } : HEADER))
/** The same JSON in another spelling. */
const written = (value: fc.Arbitrary<object>): fc.Arbitrary<string> =>
  fc
    .tuple(value, fc.constantFrom('plain', 'plain', 'plain', 'spaced', 'repeated', 'padded', 'bytes'), fc.nat())
    .map(([object, how, at]) => {
      const text = JSON.stringify(object)
      const encoded = Buffer.from(text).toString('base64url')
      switch (how) {
        case 'spaced':
          return Buffer.from(JSON.stringify(object, null, 1)).toString('base64url')
        case 'repeated':
          return Buffer.from(text.replace('{', '{"exp":1,')).toString('base64url')
        case 'padded':
          return `${encoded}=`
        case 'bytes':
          return Buffer.from(text)
            .fill(255, at % text.length, (at % text.length) + 1)
            .toString('base64url')
        default:
          return encoded
      }
    })
const keys: fc.Arbitrary<KeyObject> = fc.constantFrom(PRIVATE_KEY, PRIVATE_KEY, PRIVATE_KEY, STRANGERS_KEY)
const signedTokens = fc
  .tuple(written(changedHeader), written(changedClaims), keys)
  .map(([header, claims, key]) => signedParts(header, claims, key))
const GOOD = token()
/** A valid token with characters replaced, inserted or removed. */
const brokenTokens = fc
  .tuple(fc.nat(GOOD.length), fc.nat(3), fc.string({ unit: 'binary', maxLength: 3 }))
  .map(([at, cut, inserted]) => GOOD.slice(0, at) + inserted + GOOD.slice(at + cut))
const anyTexts = fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/))

test(
  'fuzzing: nothing is taken that jose or a rule that it does not know would refuse, and nothing throws',
  async () => {
    let taken = 0
    await fc.assert(
      fc.asyncProperty(fc.oneof({ arbitrary: signedTokens, weight: 3 }, brokenTokens, anyTexts), async (text) => {
        if (!isTaken(text)) return
        taken++
        expect(await referenceTakes(text)).toBe(true)
      }),
      { numRuns: FUZZ_CASES },
    )
    // Otherwise the test has checked nothing.
    expect(taken).toBeGreaterThan(FUZZ_CASES / 200)
  },
  FUZZ_MS_MAX,
)
