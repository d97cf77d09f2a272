import { beforeAll, expect, test } from 'vitest'
import { type Destination, openDestination } from '../../../../internal/exports/schedules/destination.js'
import { type Schedule, storedDestination } from '../../../../internal/exports/schedules/schedule.js'
import { guardOf, targetRulesOf } from '../../../../internal/outbound/targets.js'
import { type DnsServer, launchDnsServer } from '../../../support/dns-server.js'
import { masterKeysOf } from '../../../support/master-keys.js'
import { RECEIVER_CERTIFICATE } from '../../../support/receiver.js'
import { atEnd } from '../../../support/run/at-end.js'
import { ACCESS_KEY, BUCKET, launchBucket, type S3Bucket, SECRET_KEY } from '../../../support/s3-bucket.js'

/**
 * Which addresses a delivery calls: names are resolved by a real name server, the bucket is a real S3 server over TLS.
 */

const SIGNAL = new AbortController().signal
const keys = masterKeysOf(7)
let addresses: Readonly<Record<string, readonly string[]>> = {}
let dns: DnsServer
let bucket: S3Bucket
beforeAll(async () => {
  dns = await launchDnsServer((name) => addresses[name])
  atEnd(() => dns.close())
  bucket = await launchBucket()
})

interface Stated {
  readonly host?: string
  readonly isPathStyle?: boolean
  readonly allowed?: readonly string[]
  readonly isTrusted?: boolean
}

const open = ({ host = 's3.example.com', isPathStyle = true, allowed = ['127.0.0.0/8'], isTrusted = true }: Stated) => {
  const targets = { webhookPorts: [bucket.port], webhookAllowedNetworks: allowed, webhookResolvers: [dns.address] }
  const destination = storedDestination(keys, 'sch_a', `https://${host}:${bucket.port}`, {
    region: 'eu-central-1',
    bucket: BUCKET,
    path_style: isPathStyle,
    access_key_id: ACCESS_KEY,
    secret_access_key: SECRET_KEY,
  })
  return openDestination({ id: 'sch_a', destination } as Schedule, {
    masterKeys: keys,
    targetRules: targetRulesOf(targets, ''),
    guard: guardOf(targets),
    extraCa: isTrusted ? RECEIVER_CERTIFICATE.cert : undefined,
  })
}

async function* hello() {
  yield Buffer.from('hello')
}

/** @returns the reason of the failure; undefined when the object was written */
async function put(stated: Stated, whenOpen: () => void = () => undefined): Promise<unknown> {
  let destination: Destination | undefined
  try {
    destination = await open(stated)
    whenOpen()
    await destination.put('a/b', hello(), SIGNAL)
    return undefined
  } catch (cause) {
    return (cause as { readonly reason?: string }).reason ?? cause
  } finally {
    destination?.close()
  }
}

test('writes an object, by the path style', async () => {
  addresses = { 's3.example.com': ['127.0.0.1'] }

  expect(await put({})).toBeUndefined()
  expect(String(await bucket.read('a/b'))).toBe('hello')
})

test('a private address is called only when the operator allows its network', async () => {
  addresses = { 's3.example.com': ['127.0.0.1'] }
  const before = bucket.requests.length

  expect(await put({ allowed: [] })).toBe('address_not_allowed')
  expect(await put({ allowed: ['10.0.0.0/8'] })).toBe('address_not_allowed')
  expect(await put({ host: '127.0.0.1', allowed: [] })).toBe('address_not_allowed')
  expect(bucket.requests).toHaveLength(before)
})

test('a name that has another address by the time of the connection is checked again', async () => {
  addresses = { 's3.example.com': ['8.8.8.8'] }
  const before = bucket.requests.length
  const reason = put({ allowed: ['10.0.0.0/8'] }, () => {
    addresses = { 's3.example.com': ['127.0.0.1'] }
    // Until the answer that was checked first is forgotten.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 30)
  })

  expect(await reason).toBe('address_not_allowed')
  expect(bucket.requests).toHaveLength(before)
})

test('the host of the bucket is checked, too, where it is a subdomain', async () => {
  addresses = { 's3.example.com': ['127.0.0.1'], [`${BUCKET}.s3.example.com`]: ['10.0.0.7'] }

  expect(await put({ isPathStyle: false })).toBe('address_not_allowed')
  addresses = { 's3.example.com': ['127.0.0.1'] }
  expect(await put({ isPathStyle: false })).toBe('host_unresolved')
})

test('a certificate of another authority, or for another name, is refused', async () => {
  addresses = { 's3.example.com': ['127.0.0.1'], 's3.example.net': ['127.0.0.1'] }

  expect(await put({ isTrusted: false })).toBe('tls')
  expect(await put({ host: 's3.example.net' })).toBe('tls')
})

test('an error of the source stays what it is', async () => {
  addresses = { 's3.example.com': ['127.0.0.1'] }
  const broken = new Error('the disk is gone')
  const destination = await open({})

  const written = destination.put(
    'c',
    (async function* () {
      yield Buffer.from('half')
      throw broken
    })(),
    SIGNAL,
  )

  await expect(written).rejects.toBe(broken)
  expect(await bucket.keys()).not.toContain('c')
  destination.close()
})

test.each([400, 403, 404, 503])('an error %i whose text has no end is known by its status', async (status) => {
  addresses = { 's3.example.com': ['127.0.0.1'] }
  const closed: Promise<void>[] = []
  bucket.intercept = (_, response) => {
    response.writeHead(status, { 'content-type': 'application/xml' })
    const pour = (): void => {
      while (response.write('<Error>'.repeat(4_000)));
    }
    response.on('drain', pour)
    pour()
    closed.push(new Promise((resolve) => void response.on('close', resolve)))
    return true
  }
  atEnd(() => {
    bucket.intercept = () => false
  })

  const reasons: Readonly<Record<number, string>> = { 403: 'access_denied', 404: 'no_such_bucket' }
  expect(await put({})).toBe(reasons[status] ?? 'bucket_error')
  await Promise.all(closed)
})
