/**
 * The product of today on data folders that earlier versions have written (`test/fixtures/data-folders/`).
 * `ATTRIBUTION_RENEW_FIXTURES=1` writes the folder of this version first.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { type Ask, askAs } from '../support/ask.js'
import {
  copyDataFolder,
  dataFolderVersions,
  LISTS,
  listOf,
  shownFields,
  usageOf,
  writeDataFolder,
} from '../support/data-folders.js'
import { wireEvent } from '../support/gateway.js'
import { launchService } from '../support/service.js'

if (process.env['ATTRIBUTION_RENEW_FIXTURES'] === '1') await writeDataFolder()

/** Records of a service; what was on its way arrives within moments. */
async function untilThere(ask: Ask, service: string, count: number): Promise<void> {
  const path = `/v1/attribution?limit=200&filter[service][eq]=${service}`
  const found = async (): Promise<number> => {
    const { status, json } = await ask('GET', path)
    // A busy store may get a 503 at first, and a gateway learns its keys within moments.
    return status === 200 ? json.data.length : 0
  }
  while ((await found()) < count) await sleep(100)
}

describe.each(dataFolderVersions())('a data folder of version %s', (version) => {
  test('its records, totals, keys and directory are read by this version, and nothing on its way is lost', async () => {
    const { dataDir, expected } = await copyDataFolder(version)
    const service = await launchService({ dataDir, roles: [] })
    const ask = askAs(service.baseUrl, { 'x-api-key': expected.keys.all })
    const reader = askAs(service.baseUrl, { 'x-api-key': expected.keys.reader })
    const { service: late, events, cost_usd } = expected.on_their_way
    await untilThere(ask, late, events)

    const records = (await ask('GET', '/v1/attribution?limit=200')).json.data.map(shownFields)
    expect(records.filter((record: { service: string }) => record.service !== late)).toEqual(expected.records)

    const usage = await usageOf(ask, expected)
    expect(usage.filter((row) => row['service'] !== late)).toEqual(expected.usage)
    expect(usage.find((row) => row['service'] === late)).toMatchObject({
      calls: events,
      cost_usd,
    })

    for (const list of ['services', 'identities', 'pools', 'prices'] as const) {
      const [path, names] = LISTS[list]
      expect(await listOf(ask, path, names)).toEqual(expected[list])
    }

    expect((await reader('GET', '/v1/attribution')).status).toBe(200)
    expect((await reader('POST', '/api/v1/directory/services', { name: 'x', owner: 'y' })).status).toBe(403)
    const token = await fetch(`${service.baseUrl}/v1/oauth/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${expected.client.id}:${expected.client.secret}`)}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    })
    expect(token.status).toBe(200)

    const taken = await ask('POST', '/api/v1/invocations', wireEvent({ ingestion_timestamp: new Date().toISOString() }))
    expect(taken.status).toBe(202)
    const id = taken.json.invocation_id.replace('inv_', 'attr_')
    while ((await ask('GET', `/v1/attribution/${id}`)).status !== 200) await sleep(50)
    await service.stop()
  })
})
