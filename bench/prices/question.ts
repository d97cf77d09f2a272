import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { loadPriceBook, loadPriceBookFile, type PriceBook } from '../../internal/valuation/cost/price-book.js'
import { provenance } from '../machine.js'
import { readResult, writeResult } from '../results.js'
import { type ComparedVector, comparisonOf, verdictOf } from './comparison.js'
import { type GenaiData, type GenaiProvider, genaiProviders, genaiUsd } from './genai-book.js'
import { type LitellmMap, type LitellmRows, litellmRows, litellmUsd } from './litellm-map.js'
import { type ComparedModel, comparedModels, namedModel } from './names.js'
import { pageOf, withPage } from './page.js'
import { pricedCall } from './priced-call.js'
import { readReasons } from './reasons.js'
import { listOf, reportOf } from './report.js'
import { cellsOf, type PricesResult, SHARE_MIN, type TierCallResult, UNPRICED_MAX } from './result.js'
import { TIER_CALLS, TIER_USAGE } from './tier-calls.js'
import { VECTORS, type Vector } from './vectors.js'

/**
 * Question: does the price book say what two newer books say, where these agree?
 *
 * Each model of three books, eleven calls each, as events through the gateway's check and the pricing rule, at the
 * present time. The other books are read by readers of this folder alone: an evaluation that shares a reader with the
 * product would not see its mistakes.
 */
export interface PricesOptions {
  readonly checkout: string
  /** genai-prices' published data. */
  readonly against: string
  /** LiteLLM's map. */
  readonly and: string
  /** Print each vector that differs from a book, in place of the tables. Writes nothing. */
  readonly list: boolean
}

const QUESTION = 'does the price book say what two newer books say, where these agree?'
const GUIDE = 'deploy/docs/prices.md'

interface Books {
  readonly ours: PriceBook
  readonly genai: readonly GenaiProvider[]
  readonly litellm: LitellmRows
  readonly atMs: number
}

export function prices({ checkout, against, and, list }: PricesOptions): void {
  const books: Books = {
    ours: loadPriceBook(),
    genai: genaiProviders(readJson<GenaiData>(against)),
    litellm: litellmRows(readJson<LitellmMap>(and)),
    atMs: Date.now(),
  }
  const rows = loadPriceBookFile().models.filter(({ region }) => region === undefined)
  const models = comparedModels(rows, books.genai, books.litellm)
  const compared = models.flatMap((model) => VECTORS.flatMap((vector) => comparedVector(model, vector, books)))
  if (list) {
    process.stdout.write(listOf(compared))
    return
  }
  const reasons = readReasons(join(checkout, 'bench', 'prices'))
  const { rest, ...comparison } = comparisonOf(models.length, models.length * VECTORS.length, compared, reasons)
  publish(checkout, {
    question: QUESTION,
    ...provenance(checkout),
    book_as_of: books.ours.asOf,
    books: [against, and].map((file) => ({ file: basename(file), sha256: sha256(file) })),
    comparison,
    bars: { share_min: SHARE_MIN, unpriced_max: UNPRICED_MAX },
    cells: cellsOf(compared),
    rest: rest.map(({ ours = null, genai = null, litellm = null, ...each }) => ({ ...each, ours, genai, litellm })),
    tier_calls: tierCalls(books),
  })
}

const readJson = <T>(file: string): T => JSON.parse(readFileSync(file, 'utf8')) as T

const sha256 = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex')

function comparedVector(
  { provider, name, genai, litellm }: ComparedModel,
  vector: (typeof VECTORS)[number],
  { ours, atMs }: Books,
): readonly ComparedVector[] {
  const { usage, tier }: Vector = vector
  const call = { provider, requestedModel: name, usage, ...(tier !== undefined && { tier }) }
  const { usd, remarks } = pricedCall(call, ours, atMs)
  const said = {
    ours: usd,
    genai: genai && genaiUsd(genai, vector, atMs),
    litellm: litellm && litellmUsd(litellm, vector, atMs),
  }
  const verdict = verdictOf(said)
  return verdict === undefined ? [] : [{ provider, model: name, vector: vector.name, ...said, ...verdict, remarks }]
}

const tierCalls = ({ ours, genai, litellm, atMs }: Books): readonly TierCallResult[] =>
  TIER_CALLS.map((call) => {
    const { provider, tier } = call
    const vector = { name: tier, usage: TIER_USAGE, tier }
    const { usd, text, remarks } = pricedCall({ ...call, usage: TIER_USAGE }, ours, atMs)
    const model = call.servedModel ?? call.requestedModel
    const said = namedModel(provider, model, genai, litellm)
    return {
      provider,
      model,
      tier,
      ours: usd === undefined ? null : text,
      genai: (said.genai && genaiUsd(said.genai, vector, atMs)) ?? null,
      litellm: (said.litellm && litellmUsd(said.litellm, vector, atMs)) ?? null,
      remarks,
    }
  })

/** Writes the result and the guide, and prints. */
function publish(checkout: string, measured: PricesResult): void {
  const file = join(checkout, 'bench', 'results', 'prices.json')
  const before = readResult<PricesResult>(file)
  writeResult(file, measured)
  // As the file has it, whose numbers are rounded: a test compares the guide with the file.
  const result = readResult<PricesResult>(file) ?? measured
  const guide = join(checkout, GUIDE)
  writeFileSync(guide, withPage(readFileSync(guide, 'utf8'), pageOf(result)))
  process.stdout.write(`\n${reportOf(result, before)}`)
}
