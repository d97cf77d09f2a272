import type { AttributionRow } from '../../store/tables/attributions.js'
import { formatQuantity, parseSum, plus, sum } from '../../units/quantity.js'
import type { ResolutionEvidence } from '../stages/a/evidence.js'

/**
 * Records that a re-attribution gives another version, by their owners before and after, and by their services where
 * the job keeps them apart; equal where only other facts change.
 */
export type Move = {
  readonly from_service?: string
  readonly to_service?: string
  readonly from_owner: string
  readonly to_owner: string
  readonly records: number
  /** Decimal text. */
  readonly cost_usd: string
}

/** Jobs are never erased, so a person who owns her own calls is not named in them. */
export const CALLER = '(the caller)'
/** Pairs of owners that are kept apart. */
export const MOVES_MAX = 1_000
export const OTHERS = '(other owners)'

/** @param before the previous versions, also of unchanged records */
export function movesOf(
  before: readonly AttributionRow[],
  changed: readonly AttributionRow[],
  { byService = false } = {},
): readonly Move[] {
  const previous = new Map(before.map((row) => [hexOf(row.id), row]))
  return plusMoves(
    [],
    changed.flatMap((row) => {
      const was = previous.get(hexOf(row.id))
      if (was === undefined) return []
      const services = byService && { from_service: was.service, to_service: row.service }
      const owners = { from_owner: ownerOf(was), to_owner: ownerOf(row) }
      return [{ ...services, ...owners, records: 1, cost_usd: formatQuantity(row.costUsd) }]
    }),
  )
}

export function plusMoves(one: readonly Move[], other: readonly Move[]): readonly Move[] {
  const sums = new Map(one.map((move) => [pairOf(move), move]))
  for (const move of other) {
    const isKept = sums.has(pairOf(move)) || sums.size < MOVES_MAX
    const { records, cost_usd, ...places } = isKept ? move : toOthers(move)
    const pair = pairOf(places)
    const sum = sums.get(pair) ?? { records: 0, cost_usd: '0' }
    sums.set(pair, {
      ...places,
      records: sum.records + records,
      cost_usd: formatQuantity(plus(parseSum<'USD'>(sum.cost_usd), parseSum<'USD'>(cost_usd))),
    })
  }
  return [...sums.values()]
}

export const costOf = (moves: readonly Move[]): string =>
  formatQuantity(sum(moves.map(({ cost_usd }) => parseSum<'USD'>(cost_usd))))

/** As jobs by service and owner show them. */
export const mostCostlyFirst = (moves: readonly Move[]) =>
  moves
    .toSorted((one, other) => {
      const [left, right] = [parseSum<'USD'>(one.cost_usd), parseSum<'USD'>(other.cost_usd)]
      return left === right ? other.records - one.records : left < right ? 1 : -1
    })
    .map(({ from_service = '', from_owner, to_service = '', to_owner, records, cost_usd }) => {
      return { from_service, from_owner, to_service, to_owner, records, cost_usd }
    })

const toOthers = (move: Move): Move => ({
  ...move,
  ...(move.from_service !== undefined && { from_service: OTHERS, to_service: OTHERS }),
  from_owner: OTHERS,
  to_owner: OTHERS,
})

const pairOf = (move: Omit<Move, 'records' | 'cost_usd'>): string =>
  JSON.stringify([move.from_service, move.to_service, move.from_owner, move.to_owner])

function ownerOf({ owner, evidence }: AttributionRow): string {
  const { owner_from } = JSON.parse(evidence) as Partial<ResolutionEvidence>
  return owner_from === 'event_identity' ? CALLER : owner
}

const hexOf = (id: Uint8Array): string => Buffer.from(id.buffer, id.byteOffset, id.length).toString('hex')
