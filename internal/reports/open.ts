import type { Route } from '../http/route.js'
import type { StoreConnection } from '../store/client.js'
import type { Logger } from '../telemetry/log.js'
import { type ReportRoutesDeps, reportRoutes } from './routes.js'
import { openReportThread } from './thread.js'

export interface OpenReportsDeps extends Omit<ReportRoutesDeps, 'thread'> {
  readonly storeConnection: StoreConnection
  readonly log: Logger
}

export interface OpenReports {
  readonly routes: readonly Route[]
  close(): Promise<void>
}

/** The routes of reports, and the thread that computes them. */
export function openReports(deps: OpenReportsDeps): OpenReports {
  const thread = openReportThread(deps.storeConnection, deps.log)
  return { routes: reportRoutes({ ...deps, thread }), close: () => thread.close() }
}
