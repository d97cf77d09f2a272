import { createCursorCodec } from '../../internal/http/resource/pages.js'
import { openReports } from '../../internal/reports/open-reports.js'
import { openDatabase } from './database.js'
import { BOOK } from './generated-company.js'
import { atEnd } from './run/at-end.js'
import { serveRoutes } from './serve-routes.js'

/** Reports of an own store, served in this process until the file ends: no directory, no prices, cohorts of five. */
export async function serveReports(nowMs: number, stated: Partial<Parameters<typeof openReports>[0]> = {}) {
  const store = await openDatabase()
  const reports = openReports({
    storeConnection: store.connection,
    prices: { bookAt: () => BOOK, pricesOf: () => undefined },
    notPeople: () => [],
    dimensionsOf: () => [],
    credentialNames: () => new Map(),
    cohortMin: () => 5,
    costObjectsOf: () => undefined,
    watermark: { latest: async () => nowMs },
    cursors: createCursorCodec(new Uint8Array(32)),
    clock: () => nowMs,
    ...stated,
  })
  atEnd(reports.close)
  const { url } = await serveRoutes(reports.routes)
  return { client: store.client, url }
}
