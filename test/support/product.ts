/** The one running instance that the tests of `test/product` share: started once per run, with a tenant per file. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bootstrapTenant, type Credentials } from '../../internal/local/supervisor/bootstrap.js'
import { freePort, openInstance } from '../../internal/local/supervisor/supervised-instance.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import type { Certificate } from './certificates.js'
import { connectTo, untilKnown } from './instance.js'
import { launchReceiver, RECEIVER_CERTIFICATE, type Receiver } from './receiver.js'
import { lastLines, onFailure } from './run/at-end.js'
import { onceInRun } from './run/once.js'
import { launchShared } from './run/shared-processes.js'
import { type Instance, pidOf, startedDataDir, UP_MAIN, upArgs } from './service.js'

/** Rate limit of each class, high because these tests do not test limits. */
export const REQUESTS_PER_SECOND = 100_000
const RATES = ['ingest', 'read', 'report', 'control', 'token'].flatMap((name) => [
  `--rate-${name}`,
  String(REQUESTS_PER_SECOND),
])

/** Where the instance runs: tenants that are bound to another region can't be read here. */
export const REGION = 'eu-central-1'

/** Workers that may receive webhooks, each at a port of its own. */
const RECEIVERS = 8

/** As the worker that has started it describes it to the others. */
interface Product {
  readonly port: number
  readonly dataDir: string
  readonly intakePort: number
  readonly sqlPort: number
  /** Ports of 127.0.0.1 to which the instance sends webhooks. */
  readonly receiverPorts: readonly number[]
  /** Of the receivers that the instance trusts. */
  readonly certificate: Certificate
}

let product: Product | undefined

const started = (): Product => {
  if (product === undefined) throw new Error('no tenant of the shared instance was asked for before')
  return product
}

/** Address of the shared instance's intake, once a tenant is there. */
export const intakeOfProduct = (): string => `http://127.0.0.1:${started().intakePort}`

/** Address of the shared instance's SQL. */
export const sqlOfProduct = (): string => `http://127.0.0.1:${started().sqlPort}`

/** A receiver to which the shared instance sends webhooks. The caller closes it; a worker has one at a time. */
export function launchReceiverOfProduct(): Promise<Receiver> {
  const { receiverPorts, certificate } = started()
  const port = receiverPorts[Number(process.env['VITEST_POOL_ID'] ?? 0) % RECEIVERS] ?? 0
  return launchReceiver({ port, certificate })
}

/** @param folder takes the description, the data folder and the output */
async function startProduct(folder: string): Promise<void> {
  const dataDir = join(folder, 'data')
  mkdirSync(dataDir)
  const [port = 0, intakePort = 0, sqlPort = 0, ...receiverPorts] = await Promise.all(
    Array.from({ length: 3 + RECEIVERS }, () => freePort()),
  )
  const caFile = join(folder, 'ca.pem')
  writeFileSync(caFile, RECEIVER_CERTIFICATE.cert)
  const args = [
    ...RATES,
    ...['--region', REGION, '--sql-port', String(sqlPort), '--intake-port', String(intakePort)],
    ...['--webhook-allowed-networks', '127.0.0.0/8', '--webhook-ports', receiverPorts.join()],
    ...['--webhook-ca-file', caFile],
  ]
  await startedDataDir(dataDir, args)
  await launchShared([UP_MAIN, ...upArgs(dataDir, port), ...args], outputIn(folder), /is ready/)
  const description: Product = { port, dataDir, intakePort, sqlPort, receiverPorts, certificate: RECEIVER_CERTIFICATE }
  writeFileSync(descriptionIn(folder), JSON.stringify(description))
}

const outputIn = (folder: string): string => join(folder, 'output')
const descriptionIn = (folder: string): string => join(folder, 'product.json')

/**
 * A new tenant of the shared instance, with the same credentials as the first tenant of an instance. The caller must
 * not stop a process, change what all tenants share, or count what other tenants do.
 */
export async function newTenantOfProduct(): Promise<Instance> {
  const folder = await onceInRun('product', startProduct)
  onFailure(() => lastLines('the shared instance', readFileSync(outputIn(folder), 'utf8').split('\n')))
  product ??= JSON.parse(readFileSync(descriptionIn(folder), 'utf8')) as Product
  const { port, dataDir } = product
  const baseUrl = `http://127.0.0.1:${port}`
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
    return { baseUrl, port, dataDir, credentials, pid: (role) => pidOf(dataDir, role) }
  } finally {
    await broker.close()
  }
}

/** Resolves once the gateway knows the tenant's OAuth client. */
async function untilTokens(baseUrl: string, { client_id, client_secret }: Credentials): Promise<void> {
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret })
  while (!(await fetch(`${baseUrl}/v1/oauth/token`, { method: 'POST', body })).ok);
}
