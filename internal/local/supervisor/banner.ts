import { createHash, randomBytes } from 'node:crypto'
import { AUTHORIZATION_CODES, USERS } from '../../../streams/buckets.js'
import { SIGN_IN_LINK_LIFE_MS, storedCodes } from '../../access/oauth/authorization-codes.js'
import { unguessable } from '../../access/oauth/issue-token.js'
import { type StoredUser, userKey } from '../../access/oauth/users.js'
import { consoleClientId, consoleLinkUri } from '../../auth/console-client.js'
import { type Broker, connectBroker } from '../../broker/connect.js'
import type { Credentials } from './bootstrap.js'
import type { Addresses } from './role-addresses.js'
import type { InstanceFiles } from './supervised-instance.js'

export interface BannerFacts {
  readonly mode: string
  readonly files: InstanceFiles
  readonly addresses: Addresses
  /** The build of the HTTP parser, such as `uWebSockets.js 20.57`. */
  readonly http: string
  readonly consoleUrl: string
  /** Undefined: there is none. */
  readonly signInLink: string | undefined
  /** Undefined: they are off. */
  readonly metrics: string | undefined
  /** What a 202 survives. */
  readonly durability: string
}

/** Printed when the instance is ready. */
export const banner = ({ addresses: { baseUrl, intake, nats, store }, ...facts }: BannerFacts): string => {
  const { mode, files, http, consoleUrl, signInLink, metrics, durability } = facts
  return `
  Attribution Service is ready (${mode}).

    console       ${consoleUrl}${
      signInLink === undefined
        ? ''
        : `
    sign in       ${signInLink}
                  (once, within two minutes, on this machine)`
    }
    API           ${baseUrl}
    ready?        ${baseUrl}/readyz
    intake        ${intake ?? 'off'}
    metrics       ${metrics ?? 'off (--metrics-port)'}
    credentials   ${files.credentials}
    data, logs    ${files.dataDir}
    broker        ${nats.ownPort !== undefined ? 'private nats-server' : 'as configured'}
    HTTP parser   ${http} on Node ${process.versions.node}
    read model    ${store.ownPort !== undefined ? 'embedded ClickHouse' : 'as configured'}

  Durability: ${durability}
  Stop with Ctrl-C.

`
}

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]']

/**
 * A link by which the first person signs in at the console without a password: once, within two minutes, from this
 * machine.
 *
 * It is an authorization code with its PKCE verifier, in the fragment, which browsers send to nobody.
 *
 * @returns undefined where the console is not on this machine, or the first person was disabled or deleted
 */
export async function signInLink(
  broker: Broker,
  { console_url: consoleUrl, base_url: baseUrl, tenant_id: tenantId, admin_username: username }: Credentials,
  nowMs: number,
): Promise<string | undefined> {
  const clientId = consoleClientId(tenantId)
  if (clientId === undefined || !LOOPBACK.includes(new URL(baseUrl).hostname)) return undefined
  const entry = await (await broker.bucket(USERS)).get(userKey(tenantId, username))
  const user = entry?.operation === 'PUT' ? entry.json<StoredUser>() : undefined
  if (user?.status !== 'active') return undefined
  const verifier = randomBytes(32).toString('base64url')
  const code = await storedCodes(await broker.bucket(AUTHORIZATION_CODES)).issue(
    {
      tenant_id: tenantId,
      client_id: clientId,
      user_id: user.id,
      redirect_uri: consoleLinkUri(baseUrl),
      scopes: user.scopes,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      auth_time: Math.max(Math.floor(nowMs / 1_000), user.signed_in_from ?? 0),
      session_id: unguessable(),
      is_loopback_only: true,
    },
    nowMs,
    SIGN_IN_LINK_LIFE_MS,
  )
  return `${consoleUrl}#code=${code}&verifier=${verifier}`
}

/** The same, over a connection of its own. Its two minutes begin now. */
export async function newSignInLink(credentials: Credentials, { nats }: Addresses): Promise<string | undefined> {
  const broker = await connectBroker({ ...nats, name: 'up' })
  try {
    return await signInLink(broker, credentials, Date.now())
  } finally {
    await broker.close()
  }
}
