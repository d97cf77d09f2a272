import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectService, type ReplayedRecord, type ServiceClient } from '../../internal/local/replay/client.js'
import { replayTrace } from '../../internal/local/replay/replay.js'
import { FIXED_EVENT_IDS } from '../../internal/local/replay/trace.js'
import { isAlive } from '../support/alive.js'
import { killRole, launchService, type RunningService, type ServiceOptions } from '../support/service.js'
import { storeOf } from '../support/service-store.js'
import { allRecords, billOf, hundredMillionths, TRACE, twoModelEvent } from '../support/trace.js'
import { readBooks } from '../support/usage.js'
import { missingValues } from '../support/values.js'

/** Every third row: some twenty seconds of steady traffic. `test/product/trace.test.ts` replays the whole trace. */
const ROWS = TRACE.filter((_, i) => i % 3 === 0)

/**
 * Of the background roles one, to see that it ends with the others. Reading everything back is not what is tested here.
 */
const OPTIONS: ServiceOptions = { args: ['--rate-read', '100000'], roles: ['trainer'] }

describe('kill -9 in the middle of a replay', () => {
  let service: RunningService
  let client: ServiceClient
  /** All of the replay; what comes later must find them unchanged. */
  let records: readonly ReplayedRecord[]

  beforeAll(async () => {
    service = await launchService(OPTIONS)
    client = connectService(service.baseUrl, service.credentials.api_key, 64)
  })

  afterAll(async () => {
    await client.close()
    await service.stop()
  })

  /** Kills the supervisor and starts another on the same folder and port. */
  async function killSupervisor(): Promise<void> {
    const orphans = ['nats', 'store', 'gateway', 'attributor', 'trainer'].map((role) => service.pid(role))
    await service.process.kill('SIGKILL')
    service = await launchService({ ...OPTIONS, dataDir: service.dataDir, port: service.port })
    expect(orphans.filter(isAlive)).toEqual([])
  }

  test('every event that got a 202 has exactly one record, whichever process is killed', async () => {
    const kills: [atEvent: number, what: string, act: () => Promise<void>][] = [
      [700, 'store', () => killRole(service, 'store')],
      [1_700, 'nats', () => killRole(service, 'nats')],
      [2_700, 'gateway', () => killRole(service, 'gateway')],
      [3_700, 'attributor', () => killRole(service, 'attributor')],
      [4_700, 'up', killSupervisor],
      [5_700, 'attributor', () => killRole(service, 'attributor')],
      [6_000, 'store', () => killRole(service, 'store')],
      [6_700, 'nats', () => killRole(service, 'nats')],
      [7_300, 'gateway', () => killRole(service, 'gateway')],
    ]
    let acting = Promise.resolve()
    const killed: string[] = []

    const summary = await replayTrace(ROWS, client, {
      speed: 200,
      eventIdNamespace: FIXED_EVENT_IDS,
      eventOf: twoModelEvent,
      onProgress: (taken) => {
        while (kills[0] !== undefined && taken >= kills[0][0]) {
          const [, what, act] = kills.shift() as (typeof kills)[number]
          acting = acting.then(act).then(() => void killed.push(what))
        }
      },
    })
    await acting
    records = await allRecords(client)
    const store = storeOf(service)
    const books = await readBooks(store)
    const missing = await missingValues(store)
    await store.close()

    expect(killed).toEqual(['store', 'nats', 'gateway', 'attributor', 'up', 'attributor', 'store', 'nats', 'gateway'])
    expect(summary.attributed).toBe(ROWS.length)
    expect(records.length).toBe(ROWS.length)
    expect(new Set(records.map(({ id }) => id)).size).toBe(ROWS.length)
    expect(records.reduce((sum, { cost_usd }) => sum + hundredMillionths(cost_usd), 0n)).toBe(billOf(ROWS))
    expect(books.records.length).toBeGreaterThan(100)
    expect(books.rollups).toEqual(books.records)
    expect(missing).toEqual([])
  })

  test('after a kill of the supervisor alone, none of its processes keeps running', async () => {
    const pids = ['nats', 'store', 'gateway', 'attributor', 'trainer'].map((role) => service.pid(role))

    await service.process.kill('SIGKILL')
    while (pids.some(isAlive)) await sleep(20)
    service = await launchService({ ...OPTIONS, dataDir: service.dataDir, port: service.port })

    expect((await client.page(1, undefined)).data.length).toBe(1)
  })

  test('a clean stop leaves no process, and the next start finds all records', async () => {
    const pids = ['nats', 'store', 'gateway', 'attributor', 'trainer'].map((role) => service.pid(role))

    const exit = await service.process.kill('SIGTERM')
    const left = pids.filter(isAlive)
    service = await launchService({ ...OPTIONS, dataDir: service.dataDir, port: service.port })

    expect(exit).toEqual({ code: 0, signal: null })
    expect(left).toEqual([])
    expect(await allRecords(client)).toEqual(records)
  })

  test('a broker that lost its data starts over; no new batch is taken for an old one of equal sequences', async () => {
    await service.stop()
    rmSync(join(service.dataDir, 'nats'), { recursive: true })
    service = await launchService({ ...OPTIONS, dataDir: service.dataDir, port: service.port })
    const rows = TRACE.slice(0, 300)

    await replayTrace(rows, client, {
      speed: 100_000,
      eventIdNamespace: randomUUID(),
      eventOf: twoModelEvent,
      onProgress: () => undefined,
    })

    expect((await allRecords(client)).length).toBe(records.length + rows.length)
  })
})
