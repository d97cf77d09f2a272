import { expect, test } from 'vitest'
import type { Change } from '../../../../internal/attribution/changes/change.js'
import { type ChangeRoutesDeps, changeRoutes } from '../../../../internal/attribution/changes/reattribution-routes.js'
import type { Mutation, MutationRequest } from '../../../../internal/http/mutations/mutation.js'
import type { TenantRoute } from '../../../../internal/http/route.js'
import { formatId, tenantIdsCache } from '../../../../internal/ids/ids.js'

const idsOf = tenantIdsCache(new Uint8Array(32))
const recordId = Buffer.concat([idsOf('tnt_one').tag, Buffer.alloc(16)]).subarray(0, 16)

/** Sends a dispute. Returns its answer and the changes published to CHANGES. */
async function dispute(isDone: boolean, deps: Partial<ChangeRoutesDeps> = {}) {
  const published: Change[] = []
  const mutations: Pick<Mutation<unknown>, 'action' | 'handle'>[] = []
  changeRoutes({
    idsOf,
    mutate: (mutation) => {
      mutations.push(mutation as Mutation<unknown>)
      return {} as TenantRoute
    },
    watermark: { latest: async () => 1, isDone: async () => isDone } as unknown as ChangeRoutesDeps['watermark'],
    readVersions: async () => ({
      at: () => ({ evidence_basis: 'service_resolved', output_state: 'inferred' }) as never,
      closedBy: () => [],
    }),
    dimensionsOf: () => [],
    publish: async (change) => published.push(change),
    ...deps,
  })
  const answer = await mutations
    .find(({ action }) => action === 'attribution.dispute')
    ?.handle({
      caller: { tenantId: 'tnt_one', principal: 'key_one' },
      body: { reason: 'not ours' },
      parameter: formatId('attr', recordId),
      traceId: 'a'.repeat(32),
      newId: (prefix: string) => `${prefix}_1`,
      isRepeat: false,
    } as unknown as MutationRequest<unknown>)
  return { answer, published: published.map(({ id, decision }) => [id, decision]) }
}
const DISPUTE = ['chg_1', { kind: 'dispute', reason: 'not ours' }]

test('a dispute answered with 202 publishes a promise, so that a later refusal is audited', async () => {
  const { answer, published } = await dispute(false)

  expect(answer).toMatchObject({ status: 202 })
  expect(published).toEqual([DISPUTE, ['chg_1', { kind: 'promised', decided: 'dispute', traceId: 'a'.repeat(32) }]])
})

test('a dispute refused while its request waits is reported only in the answer', async () => {
  const { answer, published } = await dispute(true)

  expect(answer).toMatchObject({ code: 'CONFLICT' })
  expect(published).toEqual([DISPUTE])
})

test('a dispute is answered with 503 if the store is unavailable, and throws on a defect', async () => {
  const failing = (cause: Error) => ({
    readVersions: async () => {
      throw cause
    },
  })
  const unavailable = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  const defect = new TypeError('unexpected row format')

  expect((await dispute(true, failing(unavailable))).answer).toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  await expect(dispute(true, failing(defect))).rejects.toBe(defect)
})
