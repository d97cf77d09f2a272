import type { Caller } from '../../auth/authenticate.js'
import { namesOf, type ServiceEntry } from '../../directory/directory.js'
import { directoryKey } from '../../directory/directory-key.js'
import { ALIASES_MAX, serviceEntry } from '../../directory/entries.js'
import { entryId } from '../../directory/entry-index.js'
import { refuseClaimed } from '../../directory/kinds.js'
import type { OpenDirectory } from '../../directory/open-directory.js'
import type { Exchange } from '../../http/exchange.js'
import type { MutationRequest, Reply } from '../../http/mutations/mutation.js'
import { invalid } from '../../http/mutations/read-body.js'
import { pageOf, readPage } from '../../http/resource/collection.js'
import { answerFromStore } from '../../http/resource/from-store.js'
import type { ResourceDeps } from '../../http/resource/resource.js'
import type { Route } from '../../http/route.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import type { StatedService, StatedServicesQuestion } from '../../store/queries/attribution/stated-services.js'
import { comparableName } from '../../text/comparable-name.js'
import { badParameter } from '../../text/query-string.js'
import { formatInstant, parseInstant } from '../../units/instant.js'
import { type JobDeps, startJob } from '../changes/reattribution-job.js'
import { type NearestServices, nearestOfEach } from './nearest-services.js'
import {
  type AliasBody,
  ASSIGN_UNKNOWN_NAME,
  aliasBody,
  DAYS_DEFAULT,
  EXAMPLE_ALIAS,
  LIST_UNKNOWN_NAMES,
  PATH,
} from './unknown-name-contract.js'
import { namesAfter, unknownNames } from './unknown-names.js'

export interface UnknownNameRoutesDeps extends OpenDirectory, ResourceDeps, JobDeps {
  readonly isPool: (tenantId: string, name: string) => boolean
  readonly nearestServices: NearestServices
  readonly findStated: (question: StatedServicesQuestion, signal: AbortSignal) => Promise<readonly StatedService[]>
}

const DAY_MS = 24 * 60 * 60 * 1_000
const QUARTER_MS = 15 * 60 * 1_000

/** `/api/v1/directory/unknown-names`: services that events state and the directory does not contain. */
export const unknownNameRoutes = (deps: UnknownNameRoutesDeps): readonly Route[] => [
  {
    method: 'get',
    path: PATH,
    operation: LIST_UNKNOWN_NAMES,
    access: 'admin:config',
    rateClass: 'report',
    handle: (exchange, caller) => list(exchange, caller, deps),
  },
  deps.mutate({
    method: 'post',
    path: PATH,
    access: 'admin:config',
    rateClass: 'control',
    action: 'directory.put',
    operation: ASSIGN_UNKNOWN_NAME,
    body: { schema: aliasBody, example: EXAMPLE_ALIAS },
    handle: (request) => assign(request, deps),
  }),
]

async function list(exchange: Exchange, caller: Caller, deps: UnknownNameRoutesDeps): Promise<void> {
  const { tenantId } = caller
  const read = readPage(exchange, caller, PATH, deps, ['from', 'to'])
  if (!read.ok) return exchange.replyProblem(read.problem)
  const { request } = read
  const period = readPeriod(request.filters, request.snapshotMs)
  if ('code' in period) return exchange.replyProblem(period)
  await answerFromStore(exchange, async (signal) => {
    const stated = await deps.findStated({ tenantId, ...period }, signal)
    const isKnown = (name: string): boolean =>
      deps.directory.serviceEntry(tenantId, name) !== undefined || deps.isPool(tenantId, name)
    const rows = namesAfter(unknownNames(stated, isKnown), request.after)
    const page = pageOf(
      request,
      rows,
      ({ name, cost_usd }) => [cost_usd, name],
      (row) => row,
    )
    const nearest = await deps.nearestServices.of(tenantId)
    const nearestServices = await nearestOfEach(
      nearest,
      page.data.map(({ name }) => name),
      signal,
    )
    if (signal.aborted) return
    const data = page.data.map((row, i) => ({ ...row, nearest_services: nearestServices[i] }))
    exchange.replyJson('200 OK', { ...page, data, period: shownPeriod(period) })
  })
}

async function assign(request: MutationRequest<AliasBody>, deps: UnknownNameRoutesDeps): Promise<Reply | Problem> {
  const { caller, body, newId } = request
  const { tenantId } = caller
  const period = readPeriod(body, deps.clock())
  if ('code' in period) return invalid([{ pointer: '/from', detail: 'must be before to' }])
  const known = deps.directory.serviceEntry(tenantId, body.service)
  if (known === undefined) {
    return invalid([{ pointer: '/service', detail: 'must be the name of a service in the directory' }])
  }
  const conflict = conflictOf(tenantId, known, body.name, deps)
  if (conflict !== undefined) return conflict

  let before: ServiceEntry | undefined
  const after = await deps.recordsOf.services.change(directoryKey(tenantId, 'services', known.name), (entry) => {
    before = entry
    const { aliases = [] } = entry
    return hasName(entry, body.name) ? undefined : serviceEntry({ ...entry, aliases: [...aliases, body.name] })
  })
  if (after === undefined || before === undefined) return problem('CONFLICT', 'The service was deleted meanwhile.')

  const id = newId('rea')
  const requested = {
    id,
    tenant_id: tenantId,
    from_ms: period.fromMs,
    to_ms: period.toMs,
    model: null,
    service: body.name,
    directory_revision: deps.revision(),
    actor: caller.principal,
  }
  const job = await startJob(requested, deps)
  const { name, owner, aliases = [] } = after
  return {
    status: 202,
    target: entryId('services', name, deps.idsOf(tenantId)),
    body: {
      name: body.name,
      service: name,
      reattribution: { id, ...shownPeriod({ fromMs: job.from_ms, toMs: job.to_ms }) },
    },
    changes: {
      before: { name, owner, aliases: [...(before.aliases ?? [])] },
      after: { name, owner, aliases: [...aliases], reattribution: id },
    },
  }
}

function conflictOf(
  tenantId: string,
  known: ServiceEntry,
  name: string,
  { directory, isPool, idsOf }: UnknownNameRoutesDeps,
): Problem | undefined {
  if (hasName(known, name)) return undefined
  if ((known.aliases?.length ?? 0) >= ALIASES_MAX) {
    return problem('CONFLICT', `Limit reached: at most ${ALIASES_MAX} aliases per service.`)
  }
  return refuseClaimed(
    tenantId,
    { name: known.name, owner: known.owner, aliases: [name] },
    { directory, isPool, idsOf },
  )
}

const hasName = (service: ServiceEntry, sought: string): boolean =>
  namesOf(service).some((each) => comparableName(each) === comparableName(sought))

interface Period {
  readonly fromMs: number
  readonly toMs: number
}

/** In whole quarters of an hour, as the figures are. */
function readPeriod(
  { from, to }: { readonly from?: string | null | undefined; readonly to?: string | null | undefined },
  nowMs: number,
): Period | Problem {
  const toMs = to == null ? nowMs : parseInstant(to)
  if (toMs === undefined) return badParameter('/to', 'to must be an RFC 3339 time in UTC.')
  const fromMs = from == null ? toMs - DAYS_DEFAULT * DAY_MS : parseInstant(from)
  if (fromMs === undefined) return badParameter('/from', 'from must be an RFC 3339 time in UTC.')
  const period = {
    fromMs: Math.max(0, Math.floor(fromMs / QUARTER_MS) * QUARTER_MS),
    toMs: Math.ceil(toMs / QUARTER_MS) * QUARTER_MS,
  }
  return period.fromMs < period.toMs ? period : badParameter('/from', 'from must be before to.')
}

const shownPeriod = ({ fromMs, toMs }: Period) => ({ from: formatInstant(fromMs), to: formatInstant(toMs) })
