import { expect, test } from 'vitest'
import type { RecordSample } from '../../../internal/store/queries/records/record-sample.js'
import { keepRecordSamples } from '../../../internal/store/record-samples.js'

const sample = (rowsOfEach: number): RecordSample => ({ rowsOfEach, closedRows: 0, records: [] })

/** Samples that are given when the test says so. */
function waiting() {
  const asked: { readonly tenantId: string; readonly give: (sample?: RecordSample | Error) => Promise<void> }[] = []
  const load = (tenantId: string): Promise<RecordSample | undefined> =>
    new Promise((resolve, reject) => {
      const give = async (given?: RecordSample | Error): Promise<void> => {
        if (given instanceof Error) reject(given)
        else resolve(given)
        for (let turn = 0; turn < 10; turn++) await Promise.resolve()
      }
      asked.push({ tenantId, give })
    })
  return { asked, load }
}
const begun = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve()
}

test('a tenant has a sample once it is made, and nobody waits for it', async () => {
  const { asked, load } = waiting()
  const samples = keepRecordSamples(load)

  expect(samples.of('tnt_one')).toBeUndefined()
  expect(samples.of('tnt_one')).toBeUndefined()
  await begun()
  await asked[0]?.give(sample(1))

  expect(samples.of('tnt_one')).toEqual(sample(1))
  expect(asked).toHaveLength(1)
})

test('an old one is used until the next is made, or when none could be', async () => {
  let nowMs = 0
  const { asked, load } = waiting()
  const samples = keepRecordSamples(load, () => nowMs)
  samples.of('tnt_one')
  await begun()
  await asked[0]?.give(sample(1))

  nowMs += 11 * 60_000
  expect(samples.of('tnt_one')).toEqual(sample(1))
  await begun()
  await asked[1]?.give(new Error('away'))
  expect(samples.of('tnt_one')).toEqual(sample(1))
  expect(asked).toHaveLength(2)

  nowMs += 11 * 60_000
  samples.of('tnt_one')
  await begun()
  await asked[2]?.give(sample(2))
  expect(samples.of('tnt_one')).toEqual(sample(2))
})

test('one is made at a time, and the tenant that has not asked for longest is forgotten', async () => {
  const { asked, load } = waiting()
  const samples = keepRecordSamples(load)
  const tenants = Array.from({ length: 33 }, (_, i) => `tnt_${i}`)
  for (const tenantId of tenants) {
    samples.of(tenantId)
    await begun()
    expect(asked.map(({ tenantId: of }) => of)).toEqual(['tnt_0'])
  }
  for (let i = 0; i < tenants.length; i++) await asked[i]?.give(sample(i))

  expect(samples.of('tnt_1')).toEqual(sample(1))
  expect(samples.of('tnt_0')).toBeUndefined()
})

test('record samples that wait when the reader closes are not loaded', async () => {
  const { asked, load } = waiting()
  const samples = keepRecordSamples(load)

  samples.of('tnt_one')
  samples.of('tnt_two')
  samples.close()
  await begun()
  await asked[0]?.give(sample(1))

  expect(asked.map(({ tenantId }) => tenantId)).toEqual(['tnt_one'])
})
