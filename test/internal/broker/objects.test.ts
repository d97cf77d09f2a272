import { afterAll, beforeAll, expect, test } from 'vitest'
import { MODEL_ARTEFACTS } from '../../../streams/buckets.js'
import { type Buckets, launchBuckets } from '../../support/buckets.js'

let buckets: Buckets
beforeAll(async () => {
  buckets = await launchBuckets()
})
afterAll(() => buckets.close())

test('another process reads an object of several chunks unchanged; a missing one is reported as missing', async () => {
  const bytes = Uint8Array.from({ length: 1_000_003 }, (_, i) => (i * 7) % 251)
  const writer = await buckets.connect()
  const reader = await buckets.connect()

  await (await writer.objects(MODEL_ARTEFACTS)).putBlob({ name: 'mdl_one' }, bytes)
  const store = await reader.objects(MODEL_ARTEFACTS)

  expect(Buffer.from((await store.getBlob('mdl_one')) ?? []).equals(bytes)).toBe(true)
  expect(await store.getBlob('mdl_two')).toBeNull()
})
