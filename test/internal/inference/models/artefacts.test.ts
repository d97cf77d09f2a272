import { expect, test } from 'vitest'
import { type LoadedModel, ModelCache } from '../../../../internal/inference/models/artefacts.js'
import type { StoredModel } from '../../../../internal/inference/models/model-version.js'

const BYTES_MAX = 100
const version = (id: string, bytes: number): StoredModel =>
  ({ id, artefact: { object: id, sha256: '', bytes } }) as unknown as StoredModel

/** A cache that counts its loads. */
function countingCache(load: (id: string) => LoadedModel = () => ({ kind: 'model' }) as LoadedModel) {
  const loads: string[] = []
  const cache = new ModelCache(async ({ id }) => {
    loads.push(id)
    return load(id)
  }, BYTES_MAX)
  return { cache, loads }
}

test('the model cache evicts the least recently used models above its maximum size', async () => {
  const { cache, loads } = countingCache()
  for (const id of ['a', 'b', 'a', 'c', 'a', 'b']) await cache.get(version(id, 40))

  expect(loads).toEqual(['a', 'b', 'c', 'b'])
})

test('a model larger than the whole model cache is still kept until another is needed', async () => {
  const { cache, loads } = countingCache()
  await cache.get(version('small', 10))
  for (let batch = 0; batch < 3; batch++) await cache.get(version('large', 2 * BYTES_MAX))
  await cache.get(version('small', 10))

  expect(loads).toEqual(['small', 'large', 'small'])
})

test('the model cache accepts a model without an artefact', async () => {
  const { cache, loads } = countingCache()
  for (let batch = 0; batch < 2; batch++) await cache.get({ id: 'none', artefact: null } as unknown as StoredModel)

  expect(loads).toEqual(['none'])
})

test('a model that could not be loaded is loaded again by the next call', async () => {
  const { cache, loads } = countingCache(() => ({ kind: 'fault', fault: 'unavailable' }))
  for (let batch = 0; batch < 2; batch++) await cache.get(version('a', 10))

  expect(loads).toEqual(['a', 'a'])
})
