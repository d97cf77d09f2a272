/** A running service with a tenant whose model serves or can be trained. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Broker } from '../../internal/broker/connect.js'
import type { StoredTraining } from '../../internal/inference/training/training.js'
import { TRAININGS } from '../../streams/buckets.js'
import { type Ask, type Asked, askAs } from './ask.js'
import { attributed, type ShownRecord } from './attributed.js'
import { degradationEvents } from './degradation-events.js'
import { command, connectTo } from './instance.js'
import { plantedCall, sendPlanted } from './planted-calls.js'
import { launchService, type RunningService } from './service.js'

export interface ModelInstance {
  readonly service: RunningService
  readonly broker: Broker
  readonly ask: Ask
  readonly tenantId: string
  /** Trains a version. @param args of `attribution model train` */
  train(...args: string[]): Promise<{ readonly outcome: string; readonly model_id: string | null }>
  /** Records of calls that state no service, with the services that they were planted for. */
  infer(numbers: readonly number[]): Promise<readonly { readonly planted: string; readonly record: ShownRecord }[]>
  /** The degradation events of the tenant, once there are this many. */
  untilEvents(count: number): Promise<readonly string[]>
  decide(id: string, decision: 'promote' | 'recall' | 'restore'): Promise<Asked>
  close(): Promise<void>
}

const START_MS = Date.now() - 3 * 60 * 60 * 1000

/** @param args of the product, besides those that a model needs */
export async function launchModelInstance(args: readonly string[] = []): Promise<ModelInstance> {
  const rates = ['--rate-control', '1000', '--rate-read', '100000']
  const service = await launchService({ roles: ['trainer'], args: [...rates, ...args] })
  const broker = await connectTo(service)
  const ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  const tenantId = service.credentials.tenant_id
  return {
    service,
    broker,
    ask,
    tenantId,
    async train(...args) {
      const { lines, code } = await command(service, ['model', 'train', '--tenant', tenantId, '--json', ...args])
      if (code !== 0) throw new Error(lines.join('\n'))
      return JSON.parse(lines[0] ?? '')
    },
    infer: (numbers) =>
      Promise.all(
        numbers.map(async (number) => {
          const { service: planted, call } = plantedCall(number, START_MS, false)
          return { planted, record: await attributed(ask, call) }
        }),
      ),
    async untilEvents(count) {
      for (;;) {
        const events = await degradationEvents(broker, tenantId)
        if (events.length >= count) return events
        await sleep(20)
      }
    },
    decide: (id, decision) => ask('POST', `/v1/models/${id}/${decision}`),
    async close() {
      await broker.close()
      await service.stop()
    },
  }
}

/** Gives the tenant enough records to train a version that passes validation. */
export async function plant({ ask, broker, tenantId }: ModelInstance): Promise<void> {
  await untilFirstTraining(broker, tenantId)
  await sendPlanted(ask, 6_000, START_MS)
}

/**
 * The trainer examines a new tenant within seconds, finds too few examples, and examines it again half an hour later.
 * If the tenant had records by then, a version would serve that no test has requested.
 */
export async function untilFirstTraining(broker: Broker, tenantId: string): Promise<void> {
  for await (const entry of await (await broker.bucket(TRAININGS)).watch({ key: tenantId })) {
    if (entry.operation === 'PUT' && entry.json<StoredTraining>().last !== null) return
  }
}
