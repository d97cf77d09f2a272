import { afterAll, beforeAll, expect, test } from 'vitest'
import { watchRecords } from '../../../../internal/broker/watched-records.js'
import { createCursorCodec } from '../../../../internal/http/resource/pages.js'
import { formatId, tenantIdsCache } from '../../../../internal/ids/ids.js'
import { modelNameRoutes } from '../../../../internal/valuation/names/model-name-routes.js'
import type { StoredModelName } from '../../../../internal/valuation/names/name.js'
import { WatchedPrices } from '../../../../internal/valuation/prices/watched-prices.js'
import { MODEL_NAMES } from '../../../../streams/buckets.js'
import { type Ask, type Asked, askAs } from '../../../support/ask.js'
import { launchBroker } from '../../../support/broker.js'
import { type MutationGateway, SECRET, startMutationGateway } from '../../../support/mutation-gateway.js'

let gateway: MutationGateway
let ask: Ask
let isOver = false
const prices = new WatchedPrices(() => undefined)

beforeAll(async () => {
  const { url } = await launchBroker()
  const fail = (cause: unknown): void => {
    if (!isOver) throw cause
  }
  gateway = await startMutationGateway(url, async (mutate, broker) =>
    modelNameRoutes({
      mutate,
      names: await watchRecords<StoredModelName>(await broker.bucket(MODEL_NAMES), fail, (id, name) =>
        prices.applyName(id, name),
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

const PATH = '/api/v1/model-names'
const codeOf = ({ status, json }: Asked) => `${status} ${json?.error_code}`
const tenantOf = () => gateway.audited[0]?.tenantId ?? ''

test('a model name maps to its model until it is deleted, and the audit log records both changes', async () => {
  const made = await ask('POST', PATH, { provider: 'azure', name: 'Prod-Chat', served_model: 'gpt-4o' })

  expect(made).toMatchObject({ status: 201 })
  expect(made.json).toEqual({
    id: expect.stringMatching(/^mnm_[0-9a-z]{26}$/),
    provider: 'azure',
    name: 'Prod-Chat',
    served_provider: 'azure',
    served_model: 'gpt-4o',
    created_at: expect.any(String),
  })
  expect((await ask('GET', PATH)).json.data).toEqual([made.json])
  expect(prices.of(tenantOf())?.rename('azure.ai.openai', 'prod-chat')).toEqual({ provider: 'azure', model: 'gpt-4o' })

  expect((await ask('DELETE', `${PATH}/${made.json.id}`)).status).toBe(204)
  expect(codeOf(await ask('GET', `${PATH}/${made.json.id}`))).toBe('404 NOT_FOUND')
  expect(prices.of(tenantOf())).toBeUndefined()
  expect(gateway.audited.slice(0, 2).map(({ action }) => action)).toEqual(['model_name.create', 'model_name.delete'])
})

test('a model name maps to only one model, ignoring case and spaces', async () => {
  const name = { provider: 'azure', name: 'fast', served_provider: 'openai', served_model: 'gpt-4o-mini' }

  expect((await ask('POST', PATH, name)).json.served_provider).toBe('openai')
  expect(codeOf(await ask('POST', PATH, { ...name, name: ' FAST', served_model: 'gpt-4o' }))).toBe('409 CONFLICT')
})

test('a model name id of another tenant gets a 403', async () => {
  const foreign = `${PATH}/${formatId('mnm', new Uint8Array(16))}`

  expect(codeOf(await ask('GET', foreign))).toBe('403 TENANT_MISMATCH')
  expect(codeOf(await ask('DELETE', foreign))).toBe('403 TENANT_MISMATCH')
})
