import type { TrainingRecord } from '../../internal/inference/learning/examples.js'
import { type Random, seededRandom } from '../../internal/local/sandbox/random.js'

/**
 * Events of many services that differ in models and sizes. It is only for cost: how right a model of them is says
 * nothing.
 */
export interface PlantedService {
  readonly name: string
  readonly inputTokens: number
  readonly outputTokens: number
  readonly models: readonly [string, string]
  readonly callers: number
}

const MODELS = 12
const LAYERS = ['application', 'gateway', 'proxy', 'sidecar'] as const
const CREDENTIALS = 40
const WINDOW_MS = 30 * 86_400_000
const LABELLED_SHARE = 0.5

export function plantedServices(count: number): PlantedService[] {
  const random = seededRandom('services of the training bench')
  return Array.from({ length: count }, (_, i) => ({
    name: `service-${i}`,
    inputTokens: 50 * 2 ** (7 * random.share()),
    outputTokens: 10 * 2 ** (7 * random.share()),
    models: [`model-${random.whole(0, MODELS - 1)}`, `model-${random.whole(0, MODELS - 1)}`],
    callers: random.whole(1, 30),
  }))
}

export function plantedRecords(services: readonly PlantedService[], count: number): TrainingRecord[] {
  const random = seededRandom('records of the training bench')
  return Array.from({ length: count }, (_, i) => plantedRecord(services, Math.floor((i / count) * WINDOW_MS), random))
}

function plantedRecord(services: readonly PlantedService[], eventTimeMs: number, random: Random): TrainingRecord {
  const at = Math.floor(services.length * random.share() ** 2)
  const { name, inputTokens, outputTokens, models, callers } = services[at] as PlantedService
  const label = { service: name, owner: `team-${at % 20}` }
  const isLabelled = random.happens(LABELLED_SHARE)
  const ingestionLayer = LAYERS[random.whole(isLabelled ? 0 : 1, isLabelled ? 1 : 3)] as string
  return {
    facts: {
      eventTimeMs,
      provider: 'openai',
      model: random.pick(models),
      ingestionLayer,
      principal: `key-${(at + random.whole(0, 2)) % CREDENTIALS}`,
      inputTokens: around(inputTokens, random),
      outputTokens: around(outputTokens, random),
      latencyMs: around(900, random),
      ...(random.happens(0.5) && { identityHash: `person-${random.whole(1, callers)}-of-${name}` }),
    },
    outcome: isLabelled ? { kind: 'resolved', label } : { kind: 'unresolved' },
  }
}

const around = (median: number, random: Random): number => Math.round(median * 2 ** (4 * (random.share() - 0.5)))
