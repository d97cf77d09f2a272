import { expect, test } from 'vitest'
import { bytesOf } from '../../../../internal/ids/key-hash.js'
import { type Confirmation, createKeyConfirmation } from '../../../../internal/ingest/keys/key-confirmation.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { METRICS } from '../../../../internal/telemetry/metrics.js'

const log = createLog('test', 'silent')
const key = new Int32Array([1, 2, 3, 4])
const fingerprint = new Int32Array([5, 6])

const unconfirmed = async (): Promise<number> => {
  const { values } = (await METRICS.getSingleMetric('attribution_admission_keys_unconfirmed_total')?.get()) ?? {
    values: [],
  }
  return values[0]?.value ?? 0
}

test('the read model confirms a key by its fingerprint', async () => {
  const before = await unconfirmed()
  const hash = Buffer.from(bytesOf(key)).toString('hex')
  const found = new Map([[hash, { fingerprint: Uint8Array.from(bytesOf(fingerprint)), flags: 1, admittedAtMs: 7 }]])
  const confirmation = createKeyConfirmation(
    async () => found,
    () => 0,
    log,
  )
  const ask = (words: Int32Array, body: Int32Array) =>
    new Promise<[Confirmation, number, number, Int32Array]>((resolve) => {
      confirmation.ask(words, body, (...told) => resolve(told))
    })

  expect(await ask(key, fingerprint)).toEqual(['same', 7, 1, fingerprint])
  expect(await ask(key, new Int32Array([5, 7]))).toEqual(['conflict', 7, 1, fingerprint])
  expect(await ask(new Int32Array(4), fingerprint)).toEqual(['unknown', 0, 0, fingerprint])
  // The read model has said that it does not know the last one.
  expect(await unconfirmed()).toBe(before)
})

test.each([
  ['does not answer', () => new Promise<never>(() => undefined)],
  ['fails', () => Promise.reject(new Error('away'))],
])(
  'a read model that %s holds nobody: the key counts as unknown, and it is left alone for a second',
  async (_, find) => {
    let nowMs = 0
    let questions = 0
    const confirmation = createKeyConfirmation(
      () => {
        questions++
        return find()
      },
      () => nowMs,
      log,
      5,
    )
    const ask = () =>
      new Promise<Confirmation>((resolve) => {
        confirmation.ask(key, fingerprint, resolve)
      })

    const before = await unconfirmed()
    expect(await ask()).toBe('unknown')
    expect([await ask(), questions]).toEqual(['unknown', 1])
    expect((await unconfirmed()) - before).toBe(2)
    nowMs = 1_000
    expect([await ask(), questions]).toEqual(['unknown', 2])
  },
)

test('one who fails on the answer leaves the others theirs, of this query and of the next', async () => {
  const failures: unknown[] = []
  const confirmation = createKeyConfirmation(
    async () => new Map(),
    () => 0,
    { error: (...told: unknown[]) => void failures.push(told) } as never,
  )
  const ask = () =>
    new Promise<Confirmation>((resolve) => {
      confirmation.ask(key, fingerprint, resolve)
    })

  confirmation.ask(key, fingerprint, () => {
    throw new Error('broken')
  })
  expect(await ask()).toBe('unknown')
  expect(await ask()).toBe('unknown')
  expect(failures.length).toBe(1)
})
