/** What our prices are beside those of two other books. Pure. */
import type { Reason } from './reasons.js'
import type { VectorName } from './vectors.js'

/** Half a percent: books round rates to different digits. */
const TOLERANCE = 0.005

export const isSame = (one: number, other: number): boolean =>
  Math.abs(one - other) <= TOLERANCE * Math.max(Math.abs(one), Math.abs(other))

/** USD of one call; undefined where a book states no price of its own, and where ours leaves the call unpriced. */
export interface Prices {
  readonly ours: number | undefined
  readonly genai: number | undefined
  readonly litellm: number | undefined
}

/** Which of the other books price the call: both alike, both differently, or one of them. */
export type Books = 'agree' | 'differ' | 'genai' | 'litellm'
/** Ours beside them; where they differ, as one of them says is as they say. */
export type Outcome = 'as they say' | 'otherwise' | 'unpriced'

export interface Verdict {
  readonly books: Books
  readonly outcome: Outcome
}

/** @returns undefined where neither book prices the call */
export function verdictOf({ ours, genai, litellm }: Prices): Verdict | undefined {
  const said = [genai, litellm].filter((usd) => usd !== undefined)
  if (said.length === 0) return undefined
  const books = booksOf(genai, litellm)
  if (ours === undefined) return { books, outcome: 'unpriced' }
  return { books, outcome: said.some((usd) => isSame(ours, usd)) ? 'as they say' : 'otherwise' }
}

function booksOf(genai: number | undefined, litellm: number | undefined): Books {
  if (litellm === undefined) return 'genai'
  if (genai === undefined) return 'litellm'
  return isSame(genai, litellm) ? 'agree' : 'differ'
}

export interface ComparedVector extends Prices, Verdict {
  readonly provider: string
  readonly model: string
  readonly vector: VectorName
  /** Why ours is unpriced, or what it assumes. */
  readonly remarks: readonly string[]
}

export type Tally = Readonly<Record<Outcome, number>>

const tallyOf = (vectors: readonly Verdict[]): Tally => ({
  'as they say': countOf(vectors, 'as they say'),
  otherwise: countOf(vectors, 'otherwise'),
  unpriced: countOf(vectors, 'unpriced'),
})

const countOf = (vectors: readonly Verdict[], wanted: Outcome): number =>
  vectors.filter(({ outcome }) => outcome === wanted).length

export interface Difference extends ComparedVector {
  /** Empty: nobody has written down why. */
  readonly reason: string
}

export interface Comparison {
  readonly models: number
  readonly vectors: number
  /** Of the vectors on which both books agree. */
  readonly agreed: Tally
  /** Of the vectors that they price differently. */
  readonly differing: Tally
  /** Of those that one of them prices. */
  readonly alone: Tally
  /** Share of the agreed vectors that are priced as both say. */
  readonly share: number
  /** Vectors that both books price, alike or not, and ours does not. */
  readonly unpriced: number
  /** What keeps the share below 1, and each vector in `unpriced`. */
  readonly rest: readonly Difference[]
  /** Reasons for differences that there are not, or no longer. */
  readonly unused_reasons: number
}

export function comparisonOf(
  models: number,
  vectors: number,
  compared: readonly ComparedVector[],
  reasons: readonly Reason[],
): Comparison {
  const agreedVectors = compared.filter(({ books }) => books === 'agree')
  const agreed = tallyOf(agreedVectors)
  const differing = tallyOf(compared.filter(({ books }) => books === 'differ'))
  const rest = compared.filter(isRest)
  return {
    models,
    vectors,
    agreed,
    differing,
    alone: tallyOf(compared.filter(({ books }) => books === 'genai' || books === 'litellm')),
    share: agreedVectors.length === 0 ? 1 : agreed['as they say'] / agreedVectors.length,
    unpriced: agreed.unpriced + differing.unpriced,
    rest: rest.map((vector) => ({ ...vector, reason: reasons.find((each) => explains(each, vector))?.reason ?? '' })),
    unused_reasons: reasons.filter((each) => !rest.some((vector) => explains(each, vector))).length,
  }
}

const isRest = ({ books, outcome }: Verdict): boolean =>
  books === 'agree' ? outcome !== 'as they say' : books === 'differ' && outcome === 'unpriced'

const explains = ({ provider, models, vectors }: Reason, rest: ComparedVector): boolean =>
  provider === rest.provider &&
  (models === undefined || models.includes(rest.model)) &&
  (vectors === undefined || vectors.includes(rest.vector))
