/**
 * An OpenID provider that answers as it is told: with what a provider was recorded to answer, or with what an honest one
 * never would. Its tokens are signed by its own key unless told otherwise.
 */
import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { StoredProvider } from '../../internal/access/identity-provider/provider.js'
import { atEnd } from './run/at-end.js'

export type Claims = Readonly<Record<string, unknown>>

/** What a provider said of itself and of a person: its own addresses are replaced by those of the test. */
export interface Recorded {
  readonly metadata: Claims
  readonly id_token: Claims
  readonly userinfo?: Claims
}

export interface Script {
  /** Members of the description. */
  metadata: Claims
  /** Of the ID token, beside what the protocol asks for. */
  idToken: Claims
  userInfo: Claims | undefined
  /** How the ID token is signed. */
  signature: 'own' | 'foreign' | 'none' | 'cut'
  /** Addresses that answer with endless bytes. */
  endless: ReadonlySet<string>
}

export interface ScriptedProvider {
  readonly issuer: string
  readonly script: Script
  /** How each request of the client proved itself at the token endpoint, and what it sent. */
  readonly redeemed: { readonly authorization: string | undefined; readonly form: URLSearchParams }[]
  /** The address to which the provider sends a person who agrees. */
  answer(asked: URL, more?: Readonly<Record<string, string>>): URL
  /** As the operator of the service has set it. */
  stored(members?: Partial<StoredProvider>): StoredProvider
}

interface Asked {
  readonly nonce: string
  readonly challenge: string
  readonly clientId: string
}

export async function scriptedProvider(): Promise<ScriptedProvider> {
  const asked = new Map<string, Asked>()
  const redeemed: ScriptedProvider['redeemed'] = []
  const idToken = { preferred_username: 'ada', groups: ['finance'] }
  const script: Script = { metadata: {}, idToken, userInfo: undefined, signature: 'own', endless: new Set() }
  const server = createServer((request, response) => {
    void replyTo(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(() => {
    server.close()
    server.closeAllConnections()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  async function replyTo(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '', issuer)
    if (script.endless.has(pathname)) return endlessly(response)
    if (pathname === '/.well-known/openid-configuration') return replyJson(response, description())
    if (pathname === '/jwks') {
      return replyJson(response, { keys: [{ ...own.publicKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }] })
    }
    if (pathname === '/userinfo') return replyJson(response, script.userInfo ?? { sub: 'subject' })
    const form = new URLSearchParams(await textOf(request))
    redeemed.push({ authorization: request.headers.authorization, form })
    const found = asked.get(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (found === undefined || challenge !== found.challenge) {
      return replyJson(response, { error: 'invalid_grant' }, 400)
    }
    replyJson(response, { access_token: 'opaque', token_type: 'Bearer', expires_in: 300, id_token: signedToken(found) })
  }

  const description = (): Claims => ({
    issuer,
    response_types_supported: ['code'],
    id_token_signing_alg_values_supported: ['RS256'],
    ...script.metadata,
    ...Object.fromEntries(
      (['authorization', 'token', 'userinfo'] as const).map((name) => [`${name}_endpoint`, `${issuer}/${name}`]),
    ),
    jwks_uri: `${issuer}/jwks`,
    ...(script.metadata['issuer'] === undefined ? {} : { issuer: script.metadata['issuer'] }),
  })

  function signedToken({ nonce, clientId }: Asked): string {
    const nowS = Math.floor(Date.now() / 1_000)
    const always = { iss: issuer, aud: clientId, sub: 'subject', iat: nowS, exp: nowS + 300, nonce }
    const head = { alg: script.signature === 'none' ? 'none' : 'RS256', typ: 'JWT' }
    const text = [head, { ...always, ...script.idToken }].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    )
    const signed = text.join('.')
    const key: KeyObject = (script.signature === 'foreign' ? foreign : own).privateKey
    const signature = sign('sha256', Buffer.from(signed), key).toString('base64url')
    return `${signed}.${script.signature === 'own' || script.signature === 'foreign' ? signature : ''}`
  }

  return {
    issuer,
    script,
    redeemed,
    answer(address, more = {}) {
      const code = randomUUID()
      const parameters = address.searchParams
      asked.set(code, {
        nonce: parameters.get('nonce') ?? '',
        challenge: parameters.get('code_challenge') ?? '',
        clientId: parameters.get('client_id') ?? '',
      })
      const back = new URL(parameters.get('redirect_uri') ?? '')
      const iss = script.metadata['authorization_response_iss_parameter_supported'] === true ? { iss: issuer } : {}
      back.search = String(new URLSearchParams({ code, state: parameters.get('state') ?? '', ...iss, ...more }))
      return back
    },
    stored: (members = {}) => ({
      name: 'Example SSO',
      issuer,
      client_id: 'attribution',
      scope: 'openid profile email',
      groups_claim: 'groups',
      username_claim: 'preferred_username',
      groups: [{ group: 'finance', scopes: ['read:reporting'], owner: false }],
      only: false,
      tenant_id: 'tnt_one',
      id: 'idp_one',
      sealed_client_secret: '',
      updated_at: randomUUID(),
      ...members,
    }),
  }
}

/** Puts a recorded exchange in place of what the provider would answer by itself. */
export function play({ script }: ScriptedProvider, { metadata, id_token, userinfo }: Recorded): void {
  const { issuer: _, ...description } = metadata
  const { iss: _iss, aud: _aud, iat: _iat, exp: _exp, nbf: _nbf, nonce: _nonce, ...claims } = id_token
  script.metadata = description
  script.idToken = claims
  script.userInfo = userinfo
}

const keyPair = () => generateKeyPairSync('rsa', { modulusLength: 2048 })
const [own, foreign] = [keyPair(), keyPair()]

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}

function replyJson(response: ServerResponse, body: Claims, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** 300 MB of a text that never ends: what reads it whole is slow, or out of memory. */
function endlessly(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  const piece = Buffer.alloc(1024 * 1024, 'x')
  let left = 300
  const more = (): void => {
    while (left-- > 0) if (!response.write(piece)) return void response.once('drain', more)
    response.end()
  }
  response.write('{"issuer": "')
  more()
}
