import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KV } from '@nats-io/kv'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Broker, connectBroker, ensureStreams } from '../../../internal/broker/connect.js'
import { mirrorBucket } from '../../../internal/broker/mirror.js'
import { ConfigError } from '../../../internal/config/settings.js'
import { parseMasterKeys, readMasterKeys } from '../../../internal/secrets/master-keys.js'
import { addMasterKey, dropMasterKeys, resealBuckets } from '../../../internal/secrets/rotation.js'
import { seal, unseal } from '../../../internal/secrets/seal.js'
import { signingKey } from '../../../internal/secrets/signing-keys.js'
import { API_KEYS, SIGNING_KEYS, TENANTS } from '../../../streams/buckets.js'
import { launchBroker, type RunningBroker } from '../../support/broker.js'
import { masterKeysOf, masterKeyText } from '../../support/master-keys.js'
import { atEnd } from '../../support/run/at-end.js'

const folder = mkdtempSync(join(tmpdir(), 'attribution-rotation-'))
afterAll(() => rmSync(folder, { recursive: true }))
const HOUR_MS = 60 * 60 * 1000

describe('a master key file', () => {
  const NOW_MS = Date.UTC(2026, 10, 21)
  const entriesOf = (file: string) => parseMasterKeys(readFileSync(file, 'utf8'), file)
  const newFile = (): string => {
    const file = join(mkdtempSync(join(folder, 'file-')), 'master.key')
    writeFileSync(file, masterKeyText(), { mode: 0o600 })
    return file
  }

  test('gets a new first key, and the previous one still opens for 24 hours', () => {
    const file = newFile()
    const [first] = entriesOf(file)
    const { before, after } = addMasterKey(file, NOW_MS)
    const [second, replaced] = entriesOf(file)

    expect(before).not.toBe(after)
    expect(second?.text).not.toBe(first?.text)
    expect(replaced).toEqual({ text: first?.text, untilMs: NOW_MS + 24 * HOUR_MS })
    expect(readMasterKeys({ masterKey: '', masterKeyFile: file }).current().id).toBe(after)
  })

  test('keeps the expiry of keys that were replaced earlier, and loses expired ones', () => {
    const file = newFile()
    addMasterKey(file, NOW_MS)
    addMasterKey(file, NOW_MS + HOUR_MS)
    const untils = () => entriesOf(file).map(({ untilMs }) => untilMs)

    expect(untils()).toEqual([Number.POSITIVE_INFINITY, NOW_MS + 25 * HOUR_MS, NOW_MS + 24 * HOUR_MS])
    addMasterKey(file, NOW_MS + 24 * HOUR_MS)
    expect(untils()).toEqual([Number.POSITIVE_INFINITY, NOW_MS + 48 * HOUR_MS, NOW_MS + 25 * HOUR_MS])
    dropMasterKeys(file, NOW_MS + 30 * HOUR_MS)
    expect(untils()).toEqual([Number.POSITIVE_INFINITY, NOW_MS + 48 * HOUR_MS])
    dropMasterKeys(file, Number.POSITIVE_INFINITY)
    expect(untils()).toEqual([Number.POSITIVE_INFINITY])
  })

  test('is unchanged by a rotation while another one is in progress, or when it cannot be read', () => {
    const file = newFile()
    const text = readFileSync(file, 'utf8')
    writeFileSync(`${file}.new`, '')
    expect(() => addMasterKey(file, NOW_MS)).toThrow(ConfigError)
    rmSync(`${file}.new`)
    expect(readFileSync(file, 'utf8')).toBe(text)

    writeFileSync(file, 'no key')
    expect(() => addMasterKey(file, NOW_MS)).toThrow(ConfigError)
    expect(readFileSync(file, 'utf8')).toBe('no key')
  })
})

describe('resealing buckets', () => {
  const OLD = masterKeysOf(1)
  const BOTH = masterKeysOf(2, 1)
  const NEW = masterKeysOf(2)
  const BUCKETS = [TENANTS, API_KEYS, SIGNING_KEYS]

  let server: RunningBroker
  let broker: Broker
  let tenants: KV
  let signing: KV

  beforeAll(async () => {
    server = await launchBroker()
    broker = await connectBroker({ url: server.url, user: '', password: '', name: 'test' })
    atEnd(() => broker.close())
    await ensureStreams(broker, { replicas: 1, invocationsBytesMax: 1024 ** 2, observationsBytesMax: 1024 ** 2 })
    tenants = await broker.bucket(TENANTS)
    signing = await broker.bucket(SIGNING_KEYS)
  })

  const secretOf = (number: number) => Buffer.from(`the secret ${number}`)
  const tenantWith = (number: number, keys = OLD) =>
    JSON.stringify({ id: `tnt_${number}`, sealed: seal(keys, `tenants.${number}`, secretOf(number)) })
  const sealedIn = async (number: number) =>
    (await tenants.get(`tnt_${number}`))?.json<{ sealed: string }>().sealed ?? ''

  test('makes the new key open every value, and erases the values of the old key from disk', async () => {
    for (let i = 0; i < 300; i++) await tenants.put(`tnt_${i}`, tenantWith(i))
    const idsKey = await signingKey(signing, OLD, 'ids')
    const before = await sealedIn(7)
    const isOnDisk = (text: string): boolean => {
      try {
        return execFileSync('grep', ['-rlaF', text, server.folder]).length > 0
      } catch {
        return false
      }
    }
    expect(isOnDisk(before)).toBe(true)

    expect(await resealBuckets(broker, BUCKETS, BOTH)).toEqual({ replaced: 301, unopened: 0 })

    for (const i of [0, 7, 299]) {
      expect(unseal(NEW, `tenants.${i}`, await sealedIn(i)).equals(secretOf(i))).toBe(true)
    }
    expect(Buffer.from(await signingKey(signing, NEW, 'ids')).equals(idsKey)).toBe(true)
    expect(isOnDisk(before)).toBe(false)
    expect(isOnDisk(OLD.current().id)).toBe(false)
    expect(await resealBuckets(broker, BUCKETS, BOTH)).toEqual({ replaced: 0, unopened: 0 })
    const { config } = await broker.manager.streams.info('KV_tenants')
    expect(config.max_msgs_per_subject).toBe(1)
  })

  test('loses no concurrent write', async () => {
    for (let i = 0; i < 100; i++) await tenants.put(`tnt_${i}`, tenantWith(i))
    const writing = (async () => {
      for (let i = 0; i < 100; i++) await tenants.put(`tnt_${i}`, tenantWith(i + 1_000, i % 2 === 0 ? OLD : BOTH))
    })()
    await resealBuckets(broker, BUCKETS, BOTH)
    await writing
    await resealBuckets(broker, BUCKETS, BOTH)

    for (let i = 0; i < 100; i++) {
      expect(unseal(NEW, `tenants.${i + 1_000}`, await sealedIn(i)).equals(secretOf(i + 1_000))).toBe(true)
    }
  })

  test('is seen by KV watches like any other change', async () => {
    await tenants.put('tnt_followed', tenantWith(1))
    const seen: string[] = []
    const updateSeen = new Promise<void>((resolve) => {
      void mirrorBucket<{ sealed: string }>(
        tenants,
        () => undefined,
        (key, value) => {
          if (key !== 'tnt_followed' || value === undefined) return
          seen.push(value.sealed)
          if (value.sealed.startsWith(`sealed.${NEW.current().id}.`)) resolve()
        },
      )
    })
    await resealBuckets(broker, BUCKETS, BOTH)
    await updateSeen

    expect(seen.length).toBeGreaterThan(0)
  })

  test('leaves values that no key opens, and counts them', async () => {
    const strange = tenantWith(1, masterKeysOf(9))
    await tenants.put('tnt_strange', strange)

    expect((await resealBuckets(broker, BUCKETS, BOTH)).unopened).toBe(1)
    expect((await tenants.get('tnt_strange'))?.string()).toBe(strange)
  })
})
