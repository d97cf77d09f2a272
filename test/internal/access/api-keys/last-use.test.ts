import { afterAll, beforeAll, expect, test } from 'vitest'
import { type KeyUses, type StoredKeyUse, trackKeyUses } from '../../../../internal/access/api-keys/last-use.js'
import { type Mirror, mirrorBucket } from '../../../../internal/broker/mirror.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { API_KEY_USES } from '../../../../streams/buckets.js'
import { type Buckets, launchBuckets } from '../../../support/buckets.js'

const NOON = Date.UTC(2026, 10, 21, 12)
const MINUTE_MS = 60_000
const at = (ms: number): StoredKeyUse => ({ at: new Date(ms).toISOString() })

let buckets: Buckets
let isBrokerUp = true
const opened: { mirror: Mirror<StoredKeyUse>; uses: KeyUses }[] = []

beforeAll(async () => {
  buckets = await launchBuckets()
})
afterAll(async () => {
  for (const { mirror, uses } of opened) {
    await uses.close()
    mirror.stop()
  }
  await buckets.close()
})

/** The tracker of one gateway. */
async function open() {
  const bucket = await (await buckets.connect()).bucket(API_KEY_USES)
  const mirror = await mirrorBucket<StoredKeyUse>(bucket, () => undefined)
  const uses = trackKeyUses({
    bucket,
    stored: (id) => mirror.get(id),
    isBrokerUp: () => isBrokerUp,
    log: createLog('test', 'silent'),
  })
  opened.push({ mirror, uses })
  return { uses, mirror }
}

async function kept(keyId: string): Promise<{ value: StoredKeyUse; revision: number } | undefined> {
  const entry = await (await buckets.open(API_KEY_USES)).get(keyId)
  return entry === null ? undefined : { value: entry.json<StoredKeyUse>(), revision: entry.revision }
}

test('a use is shown at once where it happened, elsewhere once it is stored', async () => {
  const [{ uses }, other] = [await open(), await open()]
  const use = uses.of('key_shown')
  const before = uses.lastAt('key_shown')
  use.atMs = NOON
  const shown = [uses.lastAt('key_shown'), other.uses.lastAt('key_shown')]
  await uses.flush()

  expect([before, ...shown]).toEqual([null, at(NOON).at, null])
  await expect.poll(() => other.uses.lastAt('key_shown')).toBe(at(NOON).at)
})

test('the first use of a key is stored, the next one only after a minute', async () => {
  const { uses } = await open()
  const use = uses.of('key_one')
  use.atMs = NOON
  await uses.flush()
  const first = await kept('key_one')

  use.atMs = NOON + MINUTE_MS - 1
  await uses.flush()
  expect(await kept('key_one')).toEqual(first)

  use.atMs = NOON + MINUTE_MS
  await uses.flush()
  expect(first?.value).toEqual(at(NOON))
  expect((await kept('key_one'))?.value).toEqual(at(NOON + MINUTE_MS))
})

test('several gateways together store the use of a key once a minute', async () => {
  const gateways = await Promise.all(Array.from({ length: 5 }, open))
  for (const [i, { uses }] of gateways.entries()) uses.of('key_two').atMs = NOON + i

  await Promise.all(gateways.map(({ uses }) => uses.flush()))

  const first = await kept('key_two')
  for (const { uses } of gateways) await uses.flush()
  expect(await kept('key_two')).toEqual(first)
})

test('nothing is stored for an unused key, or while the broker is unavailable', async () => {
  const { uses } = await open()
  uses.of('key_unused')
  await uses.flush()
  uses.of('key_later').atMs = NOON
  isBrokerUp = false
  await uses.flush()

  expect(await kept('key_unused')).toBeUndefined()
  expect(await kept('key_later')).toBeUndefined()
  isBrokerUp = true
  await uses.flush()
  expect((await kept('key_later'))?.value).toEqual(at(NOON))
})

test('uses are stored when the gateway stops', async () => {
  const { uses } = await open()
  uses.of('key_last').atMs = NOON

  await uses.close()

  expect((await kept('key_last'))?.value).toEqual(at(NOON))
})

test('uses of a deleted key are not stored', async () => {
  const { uses } = await open()
  uses.of('key_gone').atMs = NOON

  uses.forget('key_gone')
  await uses.flush()

  expect(await kept('key_gone')).toBeUndefined()
})

test('a key has one record of its uses', async () => {
  const { uses } = await open()

  expect(uses.of('key_same')).toBe(uses.of('key_same'))
})
