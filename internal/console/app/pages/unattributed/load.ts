import type { AuditCandidate, DirectoryService, UnknownName, UnpricedRow } from 'attribution-service/sdk/api'
import { CONTESTED_BY, type ContestedBy } from '../../../../records/interpretation.js'
import type { Period } from '../../../figures/period.js'
import { hasNoPrice, type UsageRow } from '../../../figures/usage.js'
import { ask } from '../../api/ask.js'
import { readUsage } from '../../api/usage.js'
import type { RecordRow } from '../../card/record.js'
import { hasScope } from '../../session/session.js'

/** What could not be named or priced, each with the money that it stands for. */
export type Item =
  | {
      readonly kind: 'name'
      readonly key: string
      readonly cost: string
      readonly calls: number
      readonly name: string
      readonly nearest: readonly string[]
    }
  | {
      readonly kind: 'source'
      readonly key: string
      readonly cost: string
      readonly hasNoPrice: boolean
      readonly calls: number
      readonly provider: string
      readonly pathway: string
    }
  | {
      readonly kind: 'conflict'
      readonly key: string
      readonly cost: string
      readonly hasNoPrice: boolean
      readonly calls: number
      readonly service: string
      readonly by: Contradiction
    }
  | {
      readonly kind: 'owner'
      readonly key: string
      readonly cost: string
      readonly calls: number
      readonly service: string
    }
  | {
      readonly kind: 'price'
      readonly key: string
      readonly cost: string
      readonly calls: number
      readonly provider: string
      readonly model: string
      /** Null where too few people called the model. */
      readonly tokens: readonly [input: number | null, output: number | null]
    }
  | {
      readonly kind: 'call'
      readonly key: string
      readonly cost: string
      readonly calls: number
      readonly record: RecordRow
    }

/** What contradicts an attribution. Names that the directory does not know are a part of the queue by themselves. */
export type Contradiction = Exclude<ContestedBy, 'undeclared_service'>
const CONTRADICTIONS = CONTESTED_BY.filter((by) => by !== 'undeclared_service')

export interface Queue {
  readonly items: readonly Item[]
  /** Of all unattributed calls of the period, as the overview has it. */
  readonly cost: string
  readonly calls: number
  /** All calls of the period. */
  readonly ofCalls: number
  /** Services of the directory, for a choice; empty where the person may not read them. */
  readonly services: readonly Service[]
}

export type Service = DirectoryService

type Names = { readonly data: readonly UnknownName[] }
type Unpriced = { readonly data: readonly UnpricedRow[] }
type Audits = { readonly data: readonly AuditCandidate[] }

/** Of each kind that is a list of the API: the most costly. */
export const LISTED_MAX = 20
const LISTED = String(LISTED_MAX)

/** Reads the queue, each part with what the person may read. */
export async function loadQueue({ fromMs, toMs }: Period, zone: string, signal: AbortSignal): Promise<Queue> {
  const span = { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() }
  const usage = { ...span, time_zone: zone, sort: '-unattributed_cost_usd' }
  const isAdmin = hasScope('admin:config')
  const total = await readUsage({ ...span, time_zone: zone }, signal)
  const asOf = { as_of: total.scope.as_of }
  const [names, services, audits, sources, contested, owned, unpriced] = await Promise.all([
    isAdmin
      ? ask<Names>(`/api/v1/directory/unknown-names?${new URLSearchParams({ ...span, limit: LISTED })}`, { signal })
      : { data: [] },
    isAdmin ? allServices(signal) : [],
    hasScope('read:attribution')
      ? ask<Audits>(`/v1/attribution/audit-queue?${new URLSearchParams({ ...span, limit: LISTED })}`, { signal })
      : { data: [] },
    readUsage(
      {
        ...usage,
        ...asOf,
        group_by: 'pathway_category,provider',
        'filter[output_state][eq]': 'unresolved',
        // Those have a part of the queue to themselves.
        'filter[contested][ne]': 'trace' satisfies ContestedBy,
        sort: '-cost_usd',
      },
      signal,
    ),
    readUsage(
      {
        ...usage,
        ...asOf,
        group_by: 'contested,service',
        'filter[contested][in]': CONTRADICTIONS.join(','),
        sort: '-cost_usd',
      },
      signal,
    ),
    readUsage({ ...usage, ...asOf, group_by: 'service', sort: '-cost_usd' }, signal),
    ask<Unpriced>(`/api/v1/prices/unpriced?${new URLSearchParams(span)}`, { signal }),
  ])
  const unknown = new Set(names.data.map(({ name }) => name))
  const known = new Set(services.map(({ name }) => name))
  const items: Item[] = [
    ...names.data.map((each): Item => {
      const { name, calls, cost_usd: cost, nearest_services: nearest } = each
      return { kind: 'name', key: `name ${name}`, cost, calls, name, nearest }
    }),
    ...sources.rows.filter(isUnfiltered(sources.suppressed)).flatMap(sourceOf),
    ...contested.rows.filter(isUnfiltered(contested.suppressed)).flatMap(conflictOf),
    ...owned.rows.flatMap((row) => ownerless(row, known, unknown)),
    ...unpriced.data.flatMap(unpricedOf),
    ...audits.data.map(
      ({ record, calls, cost_usd: cost }): Item => ({ kind: 'call', key: `call ${record.id}`, cost, calls, record }),
    ),
  ]
  return { items, services, ...amountOf(total.rows), ofCalls: total.rows[0]?.calls ?? 0 }
}

export type Amount = Pick<Queue, 'cost' | 'calls'>

const amountOf = ([all]: readonly UsageRow[]): Amount => ({
  cost: all?.unattributed_cost_usd ?? '0',
  calls: all?.unattributed_calls ?? 0,
})

/** The amount alone, as it is now. */
export async function loadAmount({ fromMs, toMs }: Period, zone: string, signal: AbortSignal): Promise<Amount> {
  const span = { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() }
  return amountOf((await readUsage({ ...span, time_zone: zone }, signal)).rows)
}

/** A filter that was dropped would list the sources of all calls. */
const isUnfiltered = (suppressed: unknown) => (): boolean => suppressed === undefined

function sourceOf(row: UsageRow): Item[] {
  const [pathway, provider] = [row['pathway_category'], row['provider']]
  if (row.folded || typeof pathway !== 'string' || typeof provider !== 'string') return []
  return [
    {
      kind: 'source',
      key: `source ${pathway} ${provider}`,
      cost: row.cost_usd,
      hasNoPrice: hasNoPrice(row),
      calls: row.calls,
      provider,
      pathway,
    },
  ]
}

function conflictOf(row: UsageRow): Item[] {
  const service = row['service']
  const by = CONTRADICTIONS.find((each) => each === row['contested'])
  if (row.folded || typeof service !== 'string' || by === undefined) return []
  const key = `conflict ${by} ${service}`
  return [{ kind: 'conflict', key, cost: row.cost_usd, hasNoPrice: hasNoPrice(row), calls: row.calls, service, by }]
}

/**
 * A service whose calls are all without an owner: of the directory, or in the chargeback file. Other names are in the
 * queue as names that the directory does not know, for those who may read them.
 */
function ownerless(row: UsageRow, known: ReadonlySet<string>, unknown: ReadonlySet<string>): Item[] {
  const service = row['service']
  const { no_owner: reason } = row.reasons
  if (
    row.folded ||
    typeof service !== 'string' ||
    reason === undefined ||
    row.reasons['default_pool'] !== undefined ||
    !(known.has(service) || /[1-9]/.test(row.cost_usd_by_trust.eligible)) ||
    unknown.has(service)
  )
    return []
  return [{ kind: 'owner', key: `owner ${service}`, cost: reason.cost_usd, calls: reason.calls, service }]
}

function unpricedOf({ provider, served_model: model, calls, folded, ...row }: UnpricedRow): Item[] {
  if (folded || provider === null || model === null) return []
  const tokens = [row.input_tokens, row.output_tokens] as const
  return [{ kind: 'price', key: `price ${provider} ${model}`, cost: '0', calls, provider, model, tokens }]
}

const SERVICES_MAX = 2_000

async function allServices(signal: AbortSignal): Promise<readonly Service[]> {
  const services: Service[] = []
  let cursor = ''
  do {
    const query = new URLSearchParams({ limit: '200', ...(cursor !== '' && { cursor }) })
    const page = await ask<{ data: readonly Service[]; page: { next_cursor?: string } }>(
      `/api/v1/directory/services?${query}`,
      { signal },
    )
    services.push(...page.data)
    cursor = page.page.next_cursor ?? ''
  } while (cursor !== '' && services.length < SERVICES_MAX)
  return services
}
