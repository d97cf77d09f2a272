import type { Caller } from '../../auth/authenticate.js'
import type { Exchange } from '../../http/exchange.js'
import { pageOfAll, readPage } from '../../http/resource/collection.js'
import { answerFromStore } from '../../http/resource/from-store.js'
import type { CursorCodec } from '../../http/resource/pages.js'
import type { Route } from '../../http/route.js'
import type { SourceEntry } from '../../records/capture-source.js'
import { TOO_MANY_QUERIES } from '../../store/failures.js'
import type { ObservedSource, SeenLayer } from '../../store/queries/reports/coverage.js'
import { coverageOf, type PassedOverCount, type PathwayCoverage } from './coverage.js'
import { GET_COVERAGE, PATH, type ShownCoverage } from './coverage-contract.js'

/** Inputs of the coverage map. */
export interface CoverageReads {
  readonly seen: (tenantId: string, nowMs: number, signal: AbortSignal) => Promise<SeenLayer[]>
  readonly observed: (tenantId: string, signal: AbortSignal) => Promise<ObservedSource[]>
  readonly sourcesOf: (tenantId: string) => Iterable<SourceEntry>
  readonly passedOver: (tenantId: string, nowMs: number) => Promise<readonly PassedOverCount[]>
}

export interface CoverageRoutesDeps {
  /** Undefined when the tenant has too many queries in flight. */
  readonly read: (
    tenantId: string,
    nowMs: number,
    signal: AbortSignal,
  ) => Promise<{ readonly value: readonly PathwayCoverage[] } | undefined>
  readonly cursors: CursorCodec
  readonly clock: () => number
}

/** `GET /api/v1/coverage`. */
export const coverageRoutes = (deps: CoverageRoutesDeps): readonly Route[] => [
  {
    method: 'get',
    path: PATH,
    operation: GET_COVERAGE,
    access: 'read:attribution',
    rateClass: 'read',
    handle: (exchange, caller) => list(exchange, caller, deps),
  },
]

async function list(exchange: Exchange, caller: Caller, deps: CoverageRoutesDeps): Promise<void> {
  const read = readPage(exchange, caller, PATH, deps)
  if (!read.ok) return exchange.replyProblem(read.problem)
  await answerFromStore(exchange, async (signal) => {
    const pathways = await deps.read(caller.tenantId, deps.clock(), signal)
    if (pathways === undefined) return exchange.replyProblem(TOO_MANY_QUERIES)
    const page = pageOfAll(read.request, pathways.value, ({ pathway }) => [pathway], 'ascending', shown)
    exchange.replyJson('200 OK', page)
  })
}

export async function readCoverage(
  tenantId: string,
  nowMs: number,
  { seen, observed, sourcesOf, passedOver }: CoverageReads,
  signal: AbortSignal,
): Promise<PathwayCoverage[]> {
  const [layers, sources, telemetry] = await Promise.all([
    seen(tenantId, nowMs, signal),
    observed(tenantId, signal),
    passedOver(tenantId, nowMs),
  ])
  return coverageOf({ seen: layers, observed: sources, sources: sourcesOf(tenantId), passedOver: telemetry })
}

const shown = (coverage: PathwayCoverage): ShownCoverage => ({
  pathway: coverage.pathway,
  status: coverage.status,
  layers_deployed: [...coverage.layersDeployed],
  layers_missing: [...coverage.layersMissing],
  discovery_only: [...coverage.discoveryOnly],
  last_event_at: coverage.lastEventAtMs === undefined ? null : new Date(coverage.lastEventAtMs).toISOString(),
  unattributed_share:
    coverage.unattributedShare === undefined ? null : (coverage.unattributedShare / 10_000).toFixed(4),
  passed_over: coverage.passedOver.map(({ layer, kind, count, lastAtMs }) => ({
    layer,
    kind,
    count,
    last_at: new Date(lastAtMs).toISOString(),
  })),
})
