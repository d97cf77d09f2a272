import { BOOK_PROPOSALS, type Bucket, ENERGY_TABLES, PRICE_BOOKS } from '../../../streams/buckets.js'
import type { Broker } from '../../broker/connect.js'
import { mirrorBucket } from '../../broker/mirror.js'
import type { Route } from '../../http/route.js'
import { loadPriceBookFile } from '../cost/price-book.js'
import { loadEnergyFile } from '../energy/footprint.js'
import { bookAgeDays, importedInForce } from './book-age.js'
import { CHANGES_MAX, GET_BOOKS } from './book-contract.js'
import { latestFirst, type StoredBook } from './book-version.js'
import { NEWLY_PRICED_TENANTS_MAX, type StoredProposal } from './proposals.js'

export interface BookRoutesDeps {
  readonly broker: Broker
  /** Called once when a KV watch is lost. */
  readonly onLost: (cause: unknown) => void
  /** People that a figure covers at least. */
  readonly cohortMin: (tenantId: string) => number
  readonly clock: () => number
}

/** `GET /api/v1/prices/books`: how old the books in force are, and what a proposed one would price. */
export async function openBookRoutes({ broker, onLost, cohortMin, clock }: BookRoutesDeps): Promise<readonly Route[]> {
  const copyOf = async <T>(bucket: Bucket) => mirrorBucket<T>(await broker.bucket(bucket), onLost)
  const books = await copyOf<StoredBook>(PRICE_BOOKS)
  const tables = await copyOf<StoredBook>(ENERGY_TABLES)
  const proposals = await copyOf<StoredProposal>(BOOK_PROPOSALS)
  const released = { prices: loadPriceBookFile().as_of, energy: loadEnergyFile().as_of }
  return [
    {
      method: 'get',
      path: '/api/v1/prices/books',
      operation: GET_BOOKS,
      access: 'read:reporting',
      rateClass: 'read',
      handle(exchange, { tenantId }) {
        const [imported, importedTables] = [books, tables].map((copy) => valuesOf(copy.entries())) as [
          StoredBook[],
          StoredBook[],
        ]
        const proposal = pending(valuesOf(proposals.entries()), latestFirst(imported), released.prices)
        exchange.replyJson('200 OK', {
          prices: shownBook(latestFirst(imported), released.prices, clock()),
          energy: shownBook(latestFirst(importedTables), released.energy, clock()),
          proposal: proposal && shownProposal(proposal, tenantId, cohortMin(tenantId)),
          price_changes: latestFirst(imported)
            .filter(({ undone_at }) => undone_at === undefined)
            .slice(0, CHANGES_MAX)
            .map(({ id, as_of, effective_from }) => ({ id, as_of, effective_from })),
        })
      },
    },
  ]
}

const valuesOf = <T>(entries: Iterable<readonly [string, T]>): T[] => [...entries].map(([, value]) => value)

function shownBook(imported: readonly StoredBook[], released: string, nowMs: number) {
  const book = importedInForce(imported, nowMs)
  const asOf = book?.as_of ?? released
  return {
    as_of: asOf,
    age_days: bookAgeDays(asOf, nowMs),
    id: book?.id ?? null,
    effective_from: book?.effective_from ?? null,
  }
}

/** The newest proposal that could still be accepted. */
export function pending(
  proposals: readonly StoredProposal[],
  imported: readonly StoredBook[],
  released: string,
): StoredProposal | null {
  const base = imported.find(({ undone_at }) => undone_at === undefined)?.id ?? released
  const open = proposals.filter((each) => each.kind === 'prices' && each.base === base)
  return open.sort((one, other) => (one.proposed_at < other.proposed_at ? 1 : -1))[0] ?? null
}

/** A figure of few people would say what one of them called. */
export function shownProposal(
  { id, as_of, proposed_at, newly_priced = {} }: StoredProposal,
  tenantId: string,
  cohortMin: number,
) {
  const isCut = Object.keys(newly_priced).length >= NEWLY_PRICED_TENANTS_MAX
  const own = newly_priced[tenantId] ?? (isCut ? undefined : { calls: 0, cost_usd: '0', people: 0 })
  const isShown = own !== undefined && (own.people === 0 || own.people >= cohortMin)
  return { id, as_of, proposed_at, newly_priced: isShown ? { calls: own.calls, cost_usd: own.cost_usd } : null }
}
