/** openid-client, unmodified, against a gateway of a running instance, and a person who signs in. */
import * as client from 'openid-client'
import { openBrowser } from './browser.js'
import type { Instance } from './service.js'

const CALLBACK = 'http://127.0.0.1:51004/callback'

export interface Flow {
  readonly config: client.Configuration
  readonly verifier: string
  readonly state: string
  readonly address: URL
}

/** Configured only with the issuer URL and the credential of the instance's first client. */
export const discover = (
  { baseUrl, credentials }: Instance,
  authentication: (secret: string) => client.ClientAuth = client.ClientSecretBasic,
): Promise<client.Configuration> =>
  client.discovery(new URL(baseUrl), credentials.client_id, undefined, authentication(credentials.client_secret), {
    algorithm: 'oauth2',
    execute: [client.allowInsecureRequests],
  })

/** Starts a code flow, up to the authorization URL for the person's browser. */
export const beginFlow = async (service: Instance, scope = 'read:attribution admin:config'): Promise<Flow> =>
  beginFlowOf(await discover(service), CALLBACK, scope)

/** The same for any client and redirect address. */
export async function beginFlowOf(config: client.Configuration, redirectUri: string, scope: string): Promise<Flow> {
  const verifier = client.randomPKCECodeVerifier()
  const state = client.randomState()
  const address = client.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
  })
  return { config, verifier, state, address }
}

export const adminFields = ({ credentials }: Instance): Record<string, string> => ({
  username: credentials.admin_username,
  password: credentials.admin_password,
  decision: 'allow',
})

/** Signs in the instance's first person. @returns the redirect URL with the code */
export async function signIn(service: Instance, { address }: Flow): Promise<URL> {
  const browser = openBrowser()
  await browser.open(address)
  const { status, location, text } = await browser.submit(adminFields(service))
  if (status !== 303 || location === undefined) throw new Error(`the sign-in got ${status}: ${text}`)
  return location
}

export const redeem = ({ config, verifier, state }: Flow, location: URL) =>
  client.authorizationCodeGrant(config, location, { pkceCodeVerifier: verifier, expectedState: state })
