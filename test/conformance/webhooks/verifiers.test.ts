/** Libraries that receivers verify webhooks with, on what a courier has sent. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll } from 'vitest'
import { askAs } from '../../support/ask.js'
import { pinnedVersion } from '../../support/conformance/pins.js'
import { conformance, driven } from '../../support/conformance/program.js'
import { launchReceiverOfProduct, newTenantOfProduct } from '../../support/product.js'
import { privateDataDir } from '../../support/service.js'

let deliveries: string

beforeAll(async () => {
  const { baseUrl, credentials } = await newTenantOfProduct()
  const ask = askAs(baseUrl, { 'x-api-key': credentials.api_key })
  const receiver = await launchReceiverOfProduct()
  const url = `https://127.0.0.1:${receiver.port}/hooks`
  const { json: made } = await ask('POST', '/api/v1/webhooks', { url, events: ['apikey.rotated'] })
  const [first] = await receiver.until(1)
  const { json: rotated } = await ask('POST', `/api/v1/webhooks/${made.id}/rotate-secret`)
  await ask('POST', `/api/v1/webhooks/${made.id}/verify`)
  // The challenge is repeated until it is answered.
  const [second] = await receiver.until(1, ({ headers }) => (headers['webhook-signature'] ?? '').includes(' '))
  await receiver.close()
  const sent = [
    { what: 'one secret', delivery: first, secret: made.signing_secret },
    { what: 'the new of two secrets', delivery: second, secret: rotated.signing_secret },
    { what: 'the old of two secrets', delivery: second, secret: made.signing_secret },
  ].map(({ what, delivery, secret }) => ({ what, secret, body: delivery?.text, headers: delivery?.headers }))
  deliveries = join(privateDataDir(), 'deliveries.json')
  writeFileSync(deliveries, JSON.stringify(sent))
})

const STANDARD = '`webhook-…` headers of deliveries, also while a secret is rotated'
const STRIPE = '`Service-Signature` of deliveries, also while a secret is rotated'

const npm = (name: string) => (folder: string) =>
  driven([process.execPath, 'verify.mjs', name, deliveries], { cwd: folder, minutesMax: 1 })
const python = (name: string) => (folder: string) =>
  driven([join(folder, 'venv', 'bin', 'python'), 'verify.py', name, deliveries], { cwd: folder, minutesMax: 1 })

conformance(
  {
    name: 'standardwebhooks of npm',
    version: pinnedVersion('webhooks/npm', 'standardwebhooks'),
    tries: STANDARD,
    installs: 'webhooks/npm',
  },
  npm('standardwebhooks'),
)

conformance(
  {
    name: 'svix of npm',
    version: pinnedVersion('webhooks/npm', 'svix'),
    tries: STANDARD,
    installs: 'webhooks/npm',
  },
  npm('svix'),
)

conformance(
  {
    name: 'stripe of npm',
    version: pinnedVersion('webhooks/npm', 'stripe'),
    tries: STRIPE,
    installs: 'webhooks/npm',
  },
  npm('stripe'),
)

conformance(
  {
    name: 'standardwebhooks of PyPI',
    version: pinnedVersion('webhooks/python', 'standardwebhooks'),
    tries: STANDARD,
    installs: 'webhooks/python',
  },
  python('standardwebhooks'),
)

conformance(
  {
    name: 'svix of PyPI',
    version: pinnedVersion('webhooks/python', 'svix'),
    tries: STANDARD,
    installs: 'webhooks/python',
  },
  python('svix'),
)

conformance(
  {
    name: 'stripe of PyPI',
    version: pinnedVersion('webhooks/python', 'stripe'),
    tries: STRIPE,
    installs: 'webhooks/python',
  },
  python('stripe'),
)
