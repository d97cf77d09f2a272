import { createHash } from 'node:crypto'
import type { IdentityEntry, ServiceEntry } from '../../directory/directory.js'
import type { TraceRow } from './trace.js'

/**
 * A fictional company for the calls of the recorded trace. The trace has only the time and the token counts of a call;
 * everything else is made up here, by a fixed rule from the id of the row.
 */

interface DemoService extends ServiceEntry {
  /** The kind of traffic in the trace that it sends, and its share of that kind in percent. */
  readonly kind: 'code' | 'conv'
  readonly share: number
  readonly layer: string
  readonly provider: string
  readonly model: string
  readonly people: number
}

const SERVICES: readonly DemoService[] = [
  {
    name: 'ide-assistant',
    owner: 'team-developer-tools',
    kind: 'code',
    share: 60,
    layer: 'gateway',
    provider: 'openai',
    model: 'gpt-4o-2024-08-06',
    people: 40,
    aliases: ['ide-plugin'],
  },
  {
    name: 'code-review-bot',
    owner: 'team-developer-tools',
    kind: 'code',
    share: 25,
    layer: 'application',
    provider: 'anthropic',
    model: 'claude-sonnet-4-5-20250929',
    people: 12,
  },
  {
    name: 'migration-agent',
    owner: 'team-platform',
    kind: 'code',
    share: 15,
    layer: 'proxy',
    provider: 'bedrock',
    model: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    people: 3,
  },
  {
    name: 'support-chat',
    owner: 'team-support',
    kind: 'conv',
    share: 50,
    layer: 'application',
    provider: 'openai',
    model: 'gpt-4o-mini',
    people: 60,
  },
  {
    name: 'sales-copilot',
    owner: 'team-sales',
    kind: 'conv',
    share: 25,
    layer: 'gateway',
    provider: 'gemini',
    model: 'gemini-2.5-flash',
    people: 25,
    aliases: ['sales-assistant'],
  },
  {
    name: 'internal-helpdesk',
    owner: 'team-it',
    kind: 'conv',
    share: 15,
    layer: 'proxy',
    provider: 'mistral',
    model: 'mistral-large-latest',
    people: 30,
  },
  {
    name: 'research-notebooks',
    owner: 'team-research',
    kind: 'conv',
    share: 10,
    layer: 'proxy',
    provider: 'openai',
    model: 'o3',
    people: 8,
  },
]

export const DEMO_SERVICES: readonly ServiceEntry[] = SERVICES.map(({ name, owner, aliases }) => ({
  name,
  owner,
  ...(aliases === undefined ? {} : { aliases }),
}))

const identityOf = (service: DemoService, person: number): string => `${service.name}-user-${person}@example.com`

/** Some identities work for one service only: a call that states only the identity is still resolved. */
export const DEMO_IDENTITIES: readonly IdentityEntry[] = SERVICES.filter(({ layer }) => layer === 'proxy').flatMap(
  (service) =>
    Array.from({ length: service.people }, (_, person) => ({
      name: identityOf(service, person),
      owner: service.owner,
      service: service.name,
    })),
)

/** An event in its wire form, without id and time. */
export function demoEvent(row: TraceRow): Record<string, unknown> {
  const digest = createHash('sha256').update(row.rowId).digest()
  const percent = digest.readUInt32LE(0) % 100
  const labels = digest.readUInt32LE(4) % 100
  const service = serviceAt(row.kind, percent)
  const identity = identityOf(service, digest.readUInt32LE(8) % service.people)
  // Most calls state their service, some only the caller; a few state nothing and cannot be resolved by facts.
  const stated =
    labels < 70
      ? { attributed_service: service.aliases?.[labels % 3] ?? service.name, attributed_identity: identity }
      : labels < 80
        ? { attributed_service: service.name }
        : labels < 93
          ? { attributed_identity: identity }
          : {}
  return {
    ingestion_layer: service.layer,
    provider: service.provider,
    requested_model: service.model,
    input_tokens: row.inputTokens,
    output_tokens: row.outputTokens,
    latency_ms: 300 + row.outputTokens * 18 + (digest[12] ?? 0),
    ...stated,
  }
}

function serviceAt(kind: string, percent: number): DemoService {
  let rest = percent
  const candidates = SERVICES.filter((service) => service.kind === kind)
  for (const service of candidates) {
    if (rest < service.share) return service
    rest -= service.share
  }
  throw new Error(`no service sends traffic of kind ${kind}`)
}
