/** The one running instance that the tests of `test/product` share: started once per worker, with a tenant per file. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bootstrapTenant, type Credentials } from '../../internal/local/supervisor/bootstrap.js'
import { freePort, openInstance } from '../../internal/local/supervisor/instance.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { connectTo, untilKnown } from './instance.js'
import { RECEIVER_CERTIFICATE } from './receiver.js'
import { type Instance, launchService, type RunningService } from './service.js'

/** Rate limit of each class, high because these tests do not test limits. */
export const REQUESTS_PER_SECOND = 100_000
const RATES = ['ingest', 'read', 'report', 'control', 'token'].flatMap((name) => [
  `--rate-${name}`,
  String(REQUESTS_PER_SECOND),
])

/** Where the instance runs: tenants that are bound to another region can't be read here. */
const REGION = 'eu-central-1'

let instance: Promise<RunningService> | undefined
let intakePort = 0
let sqlPort = 0
let receiverPort = 0

/** Address of the shared instance's intake, once a tenant is there. */
export const intakeOfProduct = (): string => `http://127.0.0.1:${intakePort}`

/** Address of the shared instance's SQL. */
export const sqlOfProduct = (): string => `http://127.0.0.1:${sqlPort}`

/** Port of 127.0.0.1 to which the shared instance sends webhooks: for a receiver with the certificate of receivers. */
export const receiverPortOfProduct = (): number => receiverPort

async function startProduct(): Promise<RunningService> {
  intakePort = await freePort()
  sqlPort = await freePort()
  receiverPort = await freePort()
  const caFile = join(mkdtempSync(join(tmpdir(), 'attribution-ca-')), 'ca.pem')
  writeFileSync(caFile, RECEIVER_CERTIFICATE.cert)
  const args = [
    ...RATES,
    ...[
      '--region',
      REGION,
      '--sql-port',
      String(sqlPort),
      '--intake-port',
      String(intakePort),
      '--webhook-allowed-networks',
      '127.0.0.0/8',
    ],
    ...['--webhook-ports', String(receiverPort), '--webhook-ca-file', caFile],
  ]
  return launchService({ args, isShared: true })
}

/**
 * A new tenant of the shared instance, with the same credentials as the first tenant of an instance. The caller must not
 * stop a process, change what all tenants share, or count what other tenants do.
 */
export async function newTenantOfProduct(): Promise<Instance> {
  instance ??= startProduct()
  const { baseUrl, port, dataDir, pid } = await instance
  const broker = await connectTo({ dataDir })
  try {
    const masterKeys = readMasterKeys({ masterKey: '', masterKeyFile: join(dataDir, 'master.key') })
    const { files } = openInstance(dataDir, false)
    const credentialsFile = join(dataDir, `tenant-${randomBytes(4).toString('hex')}.json`)
    const credentials = await bootstrapTenant(
      broker,
      { ...files, credentials: credentialsFile },
      masterKeys,
      'production',
      baseUrl,
    )
    await untilKnown(baseUrl, credentials.api_key)
    await untilTokens(baseUrl, credentials)
    return { baseUrl, port, dataDir, credentials, pid }
  } finally {
    await broker.close()
  }
}

/** Resolves once the gateway knows the tenant's OAuth client. */
async function untilTokens(baseUrl: string, { client_id, client_secret }: Credentials): Promise<void> {
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret })
  while (!(await fetch(`${baseUrl}/v1/oauth/token`, { method: 'POST', body })).ok);
}
