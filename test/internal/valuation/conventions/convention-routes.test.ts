import { afterAll, beforeAll, expect, test } from 'vitest'
import { watchRecords } from '../../../../internal/broker/watched-records.js'
import { createCursorCodec } from '../../../../internal/http/resource/pages.js'
import { tenantIdsCache } from '../../../../internal/ids/ids.js'
import type { StoredConvention } from '../../../../internal/valuation/conventions/convention.js'
import { conventionRoutes } from '../../../../internal/valuation/conventions/convention-routes.js'
import { WatchedConventions } from '../../../../internal/valuation/conventions/watched-conventions.js'
import { USAGE_CONVENTIONS } from '../../../../streams/buckets.js'
import { type Ask, type Asked, askAs } from '../../../support/ask.js'
import { launchBroker } from '../../../support/broker.js'
import { type MutationGateway, SECRET, startMutationGateway } from '../../../support/mutation-gateway.js'

let gateway: MutationGateway
let ask: Ask
let isOver = false
const watched = new WatchedConventions()

beforeAll(async () => {
  const { url } = await launchBroker()
  const fail = (cause: unknown): void => {
    if (!isOver) throw cause
  }
  gateway = await startMutationGateway(url, async (mutate, broker) =>
    conventionRoutes({
      mutate,
      conventions: await watchRecords<StoredConvention>(await broker.bucket(USAGE_CONVENTIONS), fail, (id, stored) =>
        watched.apply(id, stored),
      ),
      idsOf: tenantIdsCache(SECRET),
      cursors: createCursorCodec(new Uint8Array(32)),
      clock: Date.now,
    }),
  )
  ask = askAs(gateway.url, { 'x-api-key': 'admin:config' })
})
afterAll(async () => {
  isOver = true
  await gateway.stop()
})

const PATH = '/api/v1/usage-conventions'
const codeOf = ({ status, json }: Asked) => `${status} ${json?.error_code}`
const APART = { sender: 'acme.tracer', provider: 'anthropic', cache: 'apart', valid_from: '2026-11-01T00:00:00Z' }

test('a convention holds until it is deleted, once per sender, provider and start; the audit log has both', async () => {
  const made = await ask('POST', PATH, APART)
  expect(made).toMatchObject({ status: 201 })
  expect(made.json).toEqual({
    ...APART,
    id: expect.stringMatching(/^ucv_[0-9a-z]{26}$/),
    valid_from: '2026-11-01T00:00:00.000Z',
    reasoning: null,
    valid_to: null,
    created_at: expect.any(String),
  })
  expect((await ask('GET', PATH)).json.data).toEqual([made.json])
  expect(codeOf(await ask('POST', PATH, { ...APART, sender: 'ACME.tracer', cache: 'inside' }))).toBe('409 CONFLICT')
  const tenantId = gateway.audited[0]?.tenantId ?? ''
  expect(watched.of(tenantId)).toBeDefined()

  expect((await ask('DELETE', `${PATH}/${made.json.id}`)).status).toBe(204)
  expect(watched.of(tenantId)).toBeUndefined()
  const actions = gateway.audited.map(({ action, outcome }) => `${action} ${outcome}`)
  expect(actions.at(0)).toBe('usage_convention.create succeeded')
  expect(actions.at(-1)).toBe('usage_convention.delete succeeded')
})

test.each([
  ['nothing is decided', { cache: undefined }],
  ['it ends before it begins', { valid_to: '2026-10-01T00:00:00Z' }],
  ['the place is none', { reasoning: 'beside' }],
])('a convention is refused when %s', async (_why, wrong) => {
  expect(codeOf(await ask('POST', PATH, { ...APART, ...wrong }))).toBe('422 VALIDATION_FAILED')
})
