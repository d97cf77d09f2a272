import { EXPORT_PROGRESS, EXPORT_SCHEDULES } from '../../../streams/buckets.js'
import type { Broker } from '../../broker/connect.js'
import { mirrorBucket } from '../../broker/mirror.js'
import { type WatchedRecords, watchRecords } from '../../broker/watched-records.js'
import type { MutationRequest, Reply } from '../../http/mutations/mutation.js'
import { invalid } from '../../http/mutations/read-body.js'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import { type Resource, type ResourceDeps, resource, watchedCollection } from '../../http/resource/resource.js'
import type { Route } from '../../http/route.js'
import type { Guard } from '../../outbound/address-guard.js'
import { readTarget, type TargetRules } from '../../outbound/target-url.js'
import { guardOf, type TargetSettings, targetRulesOf } from '../../outbound/targets.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import type { Dimension } from '../../records/dimensions.js'
import { type Place, type ResidencyRegion, refusalOfCrossing, thisInstance } from '../../residency/residency.js'
import type { MasterKeys } from '../../secrets/master-keys.js'
import type { BlobStore } from '../blobs/blob-store.js'
import { readRequest } from '../export-request.js'
import { type Destination, openDestination, probe } from './destination.js'
import { maintainedPeriods, readPeriod } from './periods.js'
import type { StoredProgress } from './progress.js'
import {
  audited,
  endpointOf,
  SCHEDULES_MAX,
  type Schedule,
  type ScheduleChanges,
  type ScheduleFields,
  type StatedDestination,
  storedDestination,
} from './schedule.js'
import {
  EXAMPLE_RUN,
  RUN_PATH,
  RUN_SCHEDULE,
  type RunBody,
  runBody,
  SCHEDULE,
  showSchedule,
  TEST_PATH,
  TEST_SCHEDULE,
} from './schedule-contract.js'

interface ScheduleRoutesDeps extends ResourceDeps {
  readonly schedules: WatchedRecords<Schedule>
  readonly progressOf: (id: string) => StoredProgress | undefined
  readonly masterKeys: MasterKeys
  readonly targetRules: TargetRules
  readonly guard: Guard
  readonly openDestination: (schedule: Schedule) => Promise<Destination>
  readonly residencyRegionOf: (tenantId: string) => ResidencyRegion
  /** Where export files pass on their way to the bucket. */
  readonly places: readonly Place[]
  /** The tag keys that a tenant has declared. */
  readonly dimensionsOf: (tenantId: string) => readonly Dimension[]
}

const WHAT = 'export schedule'
const ACCESS = { access: 'export:create', rateClass: 'control', needsStepUp: true } as const

/** The routes of export schedules. */
const scheduleRoutes = (deps: ScheduleRoutesDeps): readonly Route[] => [
  ...resource(scheduleKind(deps), deps),
  deps.mutate({
    ...ACCESS,
    method: 'post',
    path: RUN_PATH,
    action: 'export_schedule.run',
    operation: RUN_SCHEDULE,
    body: { schema: runBody, example: EXAMPLE_RUN, isOptional: true },
    handle: (request) => run(request, deps),
  }),
  deps.mutate({
    ...ACCESS,
    method: 'post',
    path: TEST_PATH,
    action: 'export_schedule.test',
    operation: TEST_SCHEDULE,
    handle: (request) => test(request, deps),
  }),
]

function scheduleKind(deps: ScheduleRoutesDeps): Resource<Schedule, ScheduleFields, ScheduleChanges> {
  const { schedules, progressOf, masterKeys, clock } = deps
  const destinationOf = (id: string, stated: StatedDestination) => {
    const target = readTarget(endpointOf(stated), deps.targetRules)
    if (typeof target === 'string') throw new Error('the endpoint was not checked')
    return storedDestination(masterKeys, id, target.origin, stated)
  }
  return {
    ...SCHEDULE,
    access: 'export:create',
    actions: { create: 'export_schedule.create', delete: 'export_schedule.delete' },
    stepUp: 'every_change',
    max: SCHEDULES_MAX,
    collection: watchedCollection(schedules),
    async screen(tenantId, stated) {
      const read = 'cadence' in stated ? requestOf(tenantId, stated, deps) : undefined
      if (read?.ok === false) return invalid(read.errors)
      return stated.destination === undefined ? undefined : refusalOf(tenantId, stated.destination, deps)
    },
    make(fields, tenantId, newId, principal) {
      const read = requestOf(tenantId, fields, deps)
      if (!read.ok) throw new Error('the request was not checked')
      const { period: _, ...request } = read.request
      const id = newId('sch')
      const record: Schedule = {
        id,
        tenant_id: tenantId,
        name: fields.name,
        status: 'active',
        cadence: fields.cadence,
        request,
        destination: destinationOf(id, fields.destination),
        run: null,
        created_by: principal,
        created_at: new Date(clock()).toISOString(),
      }
      return { id, key: id, record }
    },
    update: {
      action: 'export_schedule.update',
      apply: (schedule, { name, status, destination }) => ({
        ...schedule,
        name: name ?? schedule.name,
        status: status ?? schedule.status,
        destination: destination === undefined ? schedule.destination : destinationOf(schedule.id, destination),
      }),
    },
    show: (schedule) => showSchedule(schedule, progressOf(schedule.id)),
    audited,
  }
}

/** A schedule's request is checked with any period: each delivery has its own. */
function requestOf(
  tenantId: string,
  { name: _name, cadence: _cadence, destination: _destination, ...body }: ScheduleFields,
  { clock, dimensionsOf }: ScheduleRoutesDeps,
) {
  const day = new Date(clock()).toISOString().slice(0, 10)
  return readRequest({ ...body, period: { from: day, to: day } }, clock(), dimensionsOf(tenantId))
}

/**
 * Why a destination is refused. The text does not depend on the resolved addresses, so that it reveals nothing about
 * the internal network.
 */
async function refusalOf(
  tenantId: string,
  stated: StatedDestination,
  deps: ScheduleRoutesDeps,
): Promise<Problem | undefined> {
  const crossing = refusalOfBucket(tenantId, stated.region, deps)
  if (crossing !== undefined) return crossing
  const endpoint = endpointOf(stated)
  const refused = (detail: string) => invalid([{ pointer: '/destination/endpoint', detail }])
  const target = readTarget(endpoint, deps.targetRules)
  if (typeof target === 'string') return refused(target)
  if (target.path !== '/') return refused('must have no path or query')
  const { kind } = await deps.guard.check(target.hostname)
  return kind === 'allowed' ? undefined : refused('resolves to a non-public address, or not at all')
}

const refusalOfBucket = (
  tenantId: string,
  region: string,
  { residencyRegionOf, places }: Pick<ScheduleRoutesDeps, 'residencyRegionOf' | 'places'>,
): Problem | undefined =>
  refusalOfCrossing(residencyRegionOf(tenantId), [...places, { name: "the schedule's bucket", region }])

async function run(
  { caller: { tenantId }, parameter: id, body, newId }: MutationRequest<RunBody>,
  deps: ScheduleRoutesDeps,
): Promise<Reply | Problem> {
  const foreign = refusalOfId('sch', id, deps.idsOf(tenantId), WHAT)
  if (foreign !== undefined) return foreign
  const nowMs = deps.clock()
  const requestId = newId('sch')
  let refusal: Problem | undefined
  const after = await deps.schedules.change(id, (schedule) => {
    const maintained = maintainedPeriods(schedule.cadence, nowMs)
    const period =
      body.period == null
        ? maintained.at(-1)
        : maintained.find(({ name }) => name === readPeriod(schedule.cadence, body.period ?? '')?.name)
    refusal =
      period === undefined
        ? invalid([
            { pointer: '/period', detail: `must be one of ${maintained[0]?.name} to ${maintained.at(-1)?.name}` },
          ])
        : schedule.status === 'paused'
          ? PAUSED
          : undefined
    // An earlier attempt of the same request has already stored it.
    if (refusal !== undefined || period === undefined || schedule.run?.id === requestId) return undefined
    return { ...schedule, run: { id: requestId, period: period.name, requested_at: new Date(nowMs).toISOString() } }
  })
  if (refusal !== undefined) return refusal
  if (after === undefined || after.run === null) return noSuch(WHAT)
  const { period } = after.run
  return { status: 202, body: { schedule_id: id, period }, changes: { after: { period } } }
}

const PAUSED = problem('CONFLICT', 'The export schedule is paused.')

async function test(
  { caller: { tenantId }, parameter: id }: MutationRequest<undefined>,
  deps: ScheduleRoutesDeps,
): Promise<Reply | Problem> {
  const foreign = refusalOfId('sch', id, deps.idsOf(tenantId), WHAT)
  if (foreign !== undefined) return foreign
  const schedule = await deps.schedules.read(id)
  if (schedule === undefined) return noSuch(WHAT)
  const crossing = refusalOfBucket(tenantId, schedule.destination.region, deps)
  if (crossing !== undefined) return crossing
  const result = await probe(schedule, deps.openDestination)
  return { status: 200, body: result, changes: { after: { ...result } } }
}

export interface OpenScheduleRoutesDeps
  extends Omit<
    ScheduleRoutesDeps,
    'schedules' | 'progressOf' | 'targetRules' | 'guard' | 'openDestination' | 'places'
  > {
  readonly broker: Broker
  readonly blobs: Pick<BlobStore, 'place'>
  readonly targets: TargetSettings
  readonly extraCa: string | undefined
  readonly baseUrl: string
  readonly instanceRegion: string | null
  /** Called once when the watch of a KV bucket is lost. */
  readonly onLost: (cause: unknown) => void
}

/** The routes of export schedules, backed by a broker's buckets. */
export async function openScheduleRoutes(deps: OpenScheduleRoutesDeps): Promise<readonly Route[]> {
  const { broker, targets, baseUrl, onLost } = deps
  const progress = await mirrorBucket<StoredProgress>(await broker.bucket(EXPORT_PROGRESS), onLost)
  const calling = { targetRules: targetRulesOf(targets, baseUrl), guard: guardOf(targets) }
  return scheduleRoutes({
    ...deps,
    ...calling,
    schedules: await watchRecords<Schedule>(await broker.bucket(EXPORT_SCHEDULES), onLost),
    progressOf: progress.get,
    openDestination: (schedule) => openDestination(schedule, { ...deps, ...calling }),
    places: [thisInstance(deps.instanceRegion), deps.blobs.place],
  })
}
