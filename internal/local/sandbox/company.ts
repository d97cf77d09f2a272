import type { IdentityEntry, ServiceEntry } from '../../directory/directory.js'
import { type Quantity, quantityOfSteps, STEPS_PER_UNIT } from '../../units/quantity.js'
import { type Random, seededRandom } from './random.js'

/** A fictional company: the services whose calls fill a sandbox, and the people behind them. */
export interface SandboxCompany {
  readonly services: readonly SandboxService[]
  /** People who work for one service only: a call that states only the identity is still resolved. */
  readonly identities: readonly IdentityEntry[]
}

export interface SandboxService extends ServiceEntry {
  readonly layer: string
  readonly model: SandboxModel
  readonly people: readonly string[]
  /** Calls per working day. */
  readonly callsADay: number
  /** Tokens of a typical call. */
  readonly inputTokens: number
  readonly outputTokens: number
  /** Share of the calls that are steps of an agent's workflow. */
  readonly workflowShare: number
}

/** A model by the name that producers send, and the fields that its calls may have. */
export interface SandboxModel {
  readonly provider: string
  readonly model: string
  /** USD per token, by which a proxy computes the cost that it states: about the list price. */
  readonly rates: readonly [input: Quantity<'USD'>, output: Quantity<'USD'>]
  /** `served_model`, if it differs from the requested one. */
  readonly served?: string
  readonly region?: string
  readonly reasons?: true
  readonly hears?: true
  readonly caches?: true
  readonly batches?: true
  /** Self-hosted: its machines measure their energy, and it has no list price. */
  readonly isOwn?: true
}

const nanoUsd = (input: number, output: number): SandboxModel['rates'] => [
  quantityOfSteps(BigInt(input) * STEPS_PER_NANO),
  quantityOfSteps(BigInt(output) * STEPS_PER_NANO),
]
const STEPS_PER_NANO = STEPS_PER_UNIT / 10n ** 9n

const MODELS: readonly SandboxModel[] = [
  { provider: 'openai', model: 'gpt-4o-2024-08-06', rates: nanoUsd(2_500, 10_000), caches: true, batches: true },
  { provider: 'openai', model: 'gpt-4o-mini', rates: nanoUsd(150, 600), batches: true },
  { provider: 'openai', model: 'o3', rates: nanoUsd(2_000, 8_000), reasons: true },
  { provider: 'openai', model: 'gpt-4o-audio-preview', rates: nanoUsd(10_000, 40_000), hears: true },
  {
    provider: 'azure',
    model: 'gpt-4o',
    rates: nanoUsd(2_500, 10_000),
    served: 'gpt-4o-2024-08-06',
    region: 'westeurope',
  },
  { provider: 'anthropic', model: 'claude-sonnet-4-5-20250929', rates: nanoUsd(3_000, 15_000), caches: true },
  {
    provider: 'bedrock',
    model: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    rates: nanoUsd(3_000, 15_000),
    region: 'us-east-1',
    caches: true,
  },
  { provider: 'gemini', model: 'gemini-2.5-flash', rates: nanoUsd(300, 2_500) },
  { provider: 'mistral', model: 'mistral-large-latest', rates: nanoUsd(1_000, 3_000) },
  { provider: 'in-house', model: 'in-house-7b', rates: nanoUsd(100, 200), isOwn: true },
]
const TEAMS = [
  'support',
  'sales',
  'search',
  'payments',
  'logistics',
  'risk',
  'marketing',
  'research',
  'people',
  'legal',
]
const PURPOSES = ['assistant', 'copilot', 'classifier', 'summarizer', 'agent', 'reranker', 'translator', 'extractor']
const LAYERS = ['application', 'sdk', 'gateway', 'proxy', 'sidecar']
const FIRST = ['ada', 'alan', 'barbara', 'claude', 'edsger', 'frances', 'grace', 'john', 'katherine', 'radia', 'tony']
const LAST = ['ashby', 'brandt', 'castro', 'dietrich', 'eriksen', 'fontaine', 'greco', 'hayashi', 'ivanova', 'jones']

/** One service per model, so that every seed has every kind of call. */
export function sandboxCompany(seed: number): SandboxCompany {
  const random = seededRandom(`company ${seed}`)
  const services = MODELS.map((model, i) => service(model, i, random))
  return {
    services,
    identities: services
      .filter(({ layer }) => layer === 'proxy' || layer === 'sidecar')
      .flatMap(({ name, owner, people }) => people.map((person) => ({ name: person, owner, service: name }))),
  }
}

function service(model: SandboxModel, place: number, random: Random): SandboxService {
  const team = TEAMS[place] ?? 'platform'
  const name = `${team}-${random.pick(PURPOSES)}`
  // One team is too small for a report of its own (k = 5).
  const size = place === 0 ? 3 : random.whole(6, 18)
  return {
    name,
    owner: `team-${team}`,
    ...(random.happens(0.4) && { aliases: [`${name}-v2`] }),
    layer: LAYERS[(place + random.whole(0, 1)) % LAYERS.length] ?? 'application',
    model,
    people: Array.from(
      { length: size },
      (_, i) => `${random.pick(FIRST)}.${random.pick(LAST)}.${team}${i}@example.com`,
    ),
    callsADay: random.whole(20, 70),
    inputTokens: random.whole(300, 6_000),
    outputTokens: random.whole(60, 900),
    workflowShare: random.pick([0, 0, 0.3]),
  }
}
