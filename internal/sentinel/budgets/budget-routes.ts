import type { Caller } from '../../auth/authenticate.js'
import type { WatchedRecords } from '../../broker/watched-records.js'
import type { Watermark } from '../../broker/watermark.js'
import { eventId } from '../../events/event.js'
import type { PublishEvent } from '../../events/publish-event.js'
import type { Exchange } from '../../http/exchange.js'
import type { MutationRequest, Reply } from '../../http/mutations/mutation.js'
import { invalid } from '../../http/mutations/read-body.js'
import { type PagePosition, pageOf, readPage } from '../../http/resource/collection.js'
import { replyFromStore } from '../../http/resource/from-store.js'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import { type ResourceDeps, resource, watchedCollection } from '../../http/resource/resource.js'
import type { Route } from '../../http/route.js'
import type { Problem } from '../../problems/problem-catalogue.js'
import { type Dimension, foldKey, isTagField, keyOfTagField } from '../../records/dimensions.js'
import type { GroupSelection, GroupSpend, SpendWindow } from '../../store/queries/reports/spend.js'
import { BUDGETS_MAX, type Budget, changedBudget, readBudget, type StoredBudget, storedBudget } from './budget.js'
import {
  BUDGET,
  EXAMPLE_TEST,
  GROUPS_PATH,
  LIST_GROUPS,
  type ShownBudget,
  TEST_BUDGET,
  TEST_PATH,
  type TestBody,
  testBody,
} from './budget-contract.js'
import { periodOf } from './budget-period.js'
import { amountAt, crossingEvent } from './crossing-event.js'
import type { StoredCrossings } from './crossings.js'
import { type CurrentReads, currentPeriods, type GroupedBudget, shownGroup } from './current.js'

/** A tenant's queries over the read model. */
export interface BudgetQueries extends Omit<CurrentReads, 'crossingsAt'> {
  /** A page of the groups of a window as of a snapshot: the highest cost first, then by name. */
  readonly listGroups: (
    snapshotMs: number,
    selection: GroupSelection & SpendWindow,
    page: { readonly after: GroupSpend | undefined; readonly limit: number },
  ) => Promise<readonly GroupSpend[]>
}

export interface BudgetRoutesDeps extends ResourceDeps {
  readonly budgets: WatchedRecords<StoredBudget>
  readonly crossings: Pick<WatchedRecords<StoredCrossings>, 'get'>
  /** The time zone of a tenant's budgets that state none. */
  readonly zoneOf: (tenantId: string) => string
  /** The tag keys that a tenant has declared. */
  readonly dimensionsOf: (tenantId: string) => readonly Dimension[]
  /** Asks the read model; undefined when the tenant has too many queries in flight. */
  readonly ask: <T>(
    tenantId: string,
    signal: AbortSignal,
    question: (queries: BudgetQueries) => Promise<T>,
  ) => Promise<{ readonly value: T } | undefined>
  readonly watermark: Pick<Watermark, 'latest'>
  readonly publishEvent: PublishEvent
}

/** `/api/v1/budgets`: ceilings that the sentinel watches, and what is spent of them. */
export function budgetRoutes(deps: BudgetRoutesDeps): readonly Route[] {
  const { budgets, crossings, clock, mutate } = deps
  return [
    ...resource(
      {
        ...BUDGET,
        actions: { create: 'budget.create', delete: 'budget.delete' },
        max: BUDGETS_MAX,
        collection: watchedCollection(budgets),
        make(fields, tenantId, newId) {
          const id = newId(BUDGET.prefix)
          return { id, key: id, record: storedBudget(fields, id, tenantId, clock()) }
        },
        refuse: (tenantId, budget) => refusalOfRule(budget, deps.dimensionsOf(tenantId)),
        update: { action: 'budget.update', apply: (budget, changes) => changedBudget(budget, changes, clock()) },
        show: (stored) => shownBudget(stored, deps),
        complete: (tenantId, records, signal) =>
          deps.ask(tenantId, signal, async (queries) => {
            const shown = records as readonly ShownBudget[]
            const found = shown.flatMap(({ id }) => findBudget(tenantId, id, deps) ?? [])
            const periods = await currentPeriods(found, { ...queries, crossingsAt: crossings.get }, clock())
            const byId = new Map(found.map(({ id }, i) => [id, periods[i]]))
            return shown.map((budget) => ({ ...budget, current: byId.get(budget.id) }))
          }),
        audited: ({ id: _, tenant_id: __, created_at: ___, changed_at: ____, ...stated }) => ({
          ...stated,
          filter: { ...stated.filter },
          ...(stated.group_ceilings_usd && { group_ceilings_usd: { ...stated.group_ceilings_usd } }),
          ...(stated.thresholds && { thresholds: [...stated.thresholds] }),
        }),
      },
      deps,
    ),
    {
      method: 'get',
      path: GROUPS_PATH,
      access: 'admin:config',
      rateClass: 'control',
      operation: LIST_GROUPS,
      handle: (exchange, caller) => listGroups(exchange, caller, deps),
    },
    mutate({
      access: 'admin:config',
      rateClass: 'control',
      method: 'post',
      path: TEST_PATH,
      action: 'budget.test',
      operation: TEST_BUDGET,
      body: { schema: testBody, example: EXAMPLE_TEST, isOptional: true },
      handle: (request) => sendTest(request, deps),
    }),
  ]
}

/** A budget on a tag that no record has as a dimension, or a ceiling of a group without groups, is never crossed. */
function refusalOfRule(
  { filter, per, group_ceilings_usd: ofGroups }: Pick<StoredBudget, 'filter' | 'per' | 'group_ceilings_usd'>,
  declared: readonly Dimension[],
): Problem | undefined {
  const known = declared.map(({ key }) => foldKey(key))
  const isUnknown = (key: string): boolean => !known.includes(key)
  const detail = `must be declared tag keys: ${known.join(', ') || 'none is'}`
  const errors = [
    ...(Object.keys(filter.tags ?? {}).some(isUnknown) ? [{ pointer: '/filter/tags', detail }] : []),
    ...(per !== undefined && isTagField(per) && isUnknown(keyOfTagField(per)) ? [{ pointer: '/per', detail }] : []),
    ...(ofGroups !== undefined && per === undefined ? [{ pointer: '/group_ceilings_usd', detail: 'needs per' }] : []),
  ]
  return errors.length > 0 ? invalid(errors) : undefined
}

type Found = Pick<BudgetRoutesDeps, 'budgets' | 'zoneOf'>

function findBudget(tenantId: string, id: string, { budgets, zoneOf }: Found): Budget | undefined {
  const stored = budgets.get(id)
  return stored?.tenant_id === tenantId ? readBudget(stored, zoneOf(tenantId)) : undefined
}

/** A budget of the caller, or why there is none. */
function budgetOf(tenantId: string, id: string, deps: Found & Pick<ResourceDeps, 'idsOf'>): Budget | Problem {
  return (
    refusalOfId(BUDGET.prefix, id, deps.idsOf(tenantId), 'budget') ?? findBudget(tenantId, id, deps) ?? noSuch('budget')
  )
}

function shownBudget(stored: StoredBudget, { zoneOf }: Pick<BudgetRoutesDeps, 'zoneOf'>): ShownBudget {
  const budget = readBudget(stored, zoneOf(stored.tenant_id))
  const { id, name, filter, per, period, zone, ceilingText, groupCeilings, thresholds } = budget
  return {
    id,
    name,
    filter: { ...filter },
    per: per ?? null,
    period,
    time_zone: zone,
    ceiling_usd: ceilingText,
    monthly_ceiling_usd: period === 'month' ? ceilingText : null,
    group_ceilings_usd: { ...groupCeilings },
    thresholds: [...thresholds],
    created_at: stored.created_at,
  }
}

async function listGroups(exchange: Exchange, caller: Caller, deps: BudgetRoutesDeps): Promise<void> {
  const budget = budgetOf(caller.tenantId, exchange.parameter, deps)
  if ('code' in budget) return exchange.replyProblem(budget)
  const { id, per, filter, period, zone, ceilingText, groupCeilings } = budget
  const name = JSON.stringify([GROUPS_PATH, id, per, filter, period, zone, ceilingText, groupCeilings])
  await replyFromStore(exchange, async (signal) => {
    const read = readPage(exchange, caller, name, { ...deps, newestMs: await deps.watermark.latest() })
    if (!read.ok) {
      exchange.replyProblem(read.problem)
      return undefined
    }
    if (per === undefined) return { value: pageOf(read.request, [], () => [], String) }
    return groupsPage(caller.tenantId, { ...budget, per }, read.request, signal, deps)
  })
}

async function groupsPage(
  tenantId: string,
  budget: GroupedBudget,
  request: PagePosition,
  signal: AbortSignal,
  { ask, crossings }: Pick<BudgetRoutesDeps, 'ask' | 'crossings'>,
) {
  const { snapshotMs, limit } = request
  const period = periodOf(budget.period, budget.zone, snapshotMs)
  const [costUsd, group] = request.after ?? []
  const after = costUsd === undefined || group === undefined ? undefined : { costUsd, group }
  const selection = { filter: budget.filter, per: budget.per, fromMs: period.fromMs, toMs: period.toMs }
  // One group more than the page shows whether another page follows.
  const found = await ask(tenantId, signal, ({ listGroups: list }) =>
    list(snapshotMs, selection, { after, limit: limit + 1 }),
  )
  const keyOf = (each: GroupSpend) => [each.costUsd, each.group]
  const show = (each: GroupSpend) => shownGroup(budget, period, each, crossings.get, snapshotMs)
  return found && { value: pageOf(request, found.value, keyOf, show) }
}

async function sendTest(
  { caller: { tenantId }, parameter, body, newId }: MutationRequest<TestBody>,
  deps: BudgetRoutesDeps,
): Promise<Reply | Problem> {
  const budget = budgetOf(tenantId, parameter, deps)
  if ('code' in budget) return budget
  const threshold = body.threshold ?? budget.thresholds[0] ?? 100
  const event = crossingEvent(tenantId, {
    budget,
    threshold,
    spent: amountAt(budget, threshold),
    group: 'test',
    // The same at every attempt of the request, so that a repeat emits no second event.
    cause: `test ${newId('evt')}`,
    isTest: true,
  })
  await deps.publishEvent(event)
  const id = eventId(deps.idsOf(tenantId), event.type, event.cause)
  return { status: 202, body: { event_id: id, type: event.type, threshold } }
}
