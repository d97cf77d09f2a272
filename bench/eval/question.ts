import { join } from 'node:path'
import { readTrace, type TraceRow } from '../../internal/replay/trace.js'
import { zero } from '../../internal/units/quantity.js'
import { type Provenance, provenance } from '../machine.js'
import { privateRun } from '../private-run.js'
import { writeResult } from '../results.js'
import { table } from '../table.js'
import { type Figures, figuresOf, type Verdict } from './figures.js'
import { judgedEvents, judgeInProcess } from './in-process.js'
import {
  jitterCompany,
  naturalKinds,
  type PlantedEvent,
  type PlantedWorld,
  permuteLabels,
  plant,
  STRETCHED_MS,
} from './plant.js'
import { COMPANY, WITHHOLDINGS, type Withholding } from './planted-company.js'
import { type Product, startProduct } from './product.js'
import { byCeiling, byHeuristic, byMajority } from './references.js'
import { runTrial, type Trial } from './trial.js'

/**
 * Question: of events whose labels were withheld, how often is what the product says right, and does it know how often?
 *
 * A company is planted on the recorded trace by a fixed, seeded rule, its events are sent through the whole product,
 * and what its records say is held against the truth, two baselines, and the best that is possible.
 */
export interface EvalOptions {
  readonly checkout: string
  readonly natsServerBin: string
  /** Of the planting; 1 is the company as it is written down, others move its figures. */
  readonly seed: number
  /** So many seeds from `seed` on, without the product: the mathematics alone. */
  readonly inProcess: number
}

interface Outcome {
  readonly withholding: string
  readonly audits: boolean
  readonly seed: number
  readonly product: Figures
  readonly ceiling: Figures
  readonly heuristic: Figures
  readonly majority: Figures
  readonly trial?: Omit<Trial, 'judged' | 'verdicts' | 'costOf'>
}

export async function evaluate(options: EvalOptions, signal: AbortSignal): Promise<void> {
  const rows = readTrace(join(options.checkout, 'bench', 'data', 'azure-llm-2023.csv'))
  if (options.inProcess > 0) return evaluateInProcess(rows, options)
  await privateRun(options.checkout, 'eval', signal, async (folder, processes) => {
    const product = await startProduct(folder, options.natsServerBin, processes)
    await evaluateProduct(rows, product, options)
  })
}

const worldOf = (rows: readonly TraceRow[], withholding: Withholding, seed: number): PlantedWorld =>
  plant(rows, withholding, String(seed), seed === 1 ? COMPANY : jitterCompany(COMPANY, String(seed)))

async function evaluateProduct(rows: readonly TraceRow[], product: Product, options: EvalOptions): Promise<void> {
  const outcomes: Outcome[] = []
  for (const withholding of WITHHOLDINGS) {
    const world = worldOf(rows, withholding, options.seed)
    for (const audits of [false, true]) {
      const name = `${withholding.name}${audits ? ', audited' : ''}`
      process.stderr.write(`${name}\n`)
      const { judged, verdicts, costOf, ...trial } = await runTrial(product, name, world, audits, STRETCHED_MS)
      outcomes.push({
        withholding: withholding.name,
        audits,
        seed: options.seed,
        product: figuresOf(verdicts),
        ceiling: figuresOf(byCeiling(world, judged, costOf)),
        heuristic: figuresOf(byHeuristic(world, judged, costOf, audits)),
        majority: figuresOf(byMajority(world, judged, costOf, audits)),
        trial,
      })
    }
  }
  const permuted = []
  for (const withholding of WITHHOLDINGS) {
    process.stderr.write(`${withholding.name}, labels permuted\n`)
    const world = permuteLabels(worldOf(rows, withholding, options.seed), String(options.seed))
    const { verdicts, training, chargeback_ready_inferred } = await runTrial(
      product,
      `${withholding.name}, permuted`,
      world,
      false,
      STRETCHED_MS,
    )
    const share = chargeback_ready_inferred / verdicts.length
    permuted.push({ withholding: withholding.name, n: verdicts.length, training, chargeback_ready_inferred, share })
  }
  process.stderr.write('kinds\n')
  const kinds = await evaluateKinds(rows, product, options.seed)
  report(options, 'eval.json', {
    question: 'of events whose labels were withheld, how often is what the product says right',
    provenance: provenance(options.checkout),
    seed: options.seed,
    bars: barsOf(outcomes, permuted),
    outcomes,
    permuted,
    kinds,
  })
}

async function evaluateKinds(rows: readonly TraceRow[], product: Product, seed: number) {
  const world = naturalKinds(rows, String(seed))
  const lengthMs = Math.max(...world.events.map(({ atMs }) => atMs)) + 1
  const { verdicts, training, served } = await runTrial(product, 'kinds', world, false, lengthMs)
  return { training, served, ...kindsOutcome(world, verdicts) }
}

function kindsOutcome(world: PlantedWorld, verdicts: readonly Verdict[]) {
  const judged = judgedEvents(world)
  const costOf = costsIn(judged, verdicts)
  return {
    product: figuresOf(verdicts),
    majority: figuresOf(byMajority(world, judged, costOf, false)),
    heuristic: figuresOf(byHeuristic(world, judged, costOf, false)),
  }
}

/** Of each judged event, what its verdict says that it cost. */
function costsIn(judged: readonly PlantedEvent[], verdicts: readonly Verdict[]) {
  const costs = new Map(judged.map(({ rowId }, i) => [rowId, verdicts[i]?.costUsd]))
  return ({ rowId }: PlantedEvent): Verdict['costUsd'] => costs.get(rowId) ?? zero()
}

function evaluateInProcess(rows: readonly TraceRow[], options: EvalOptions): void {
  const outcomes: Outcome[] = []
  const permuted: { withholding: string; seed: number; n: number; share: number }[] = []
  for (let seed = options.seed; seed < options.seed + options.inProcess; seed++) {
    for (const withholding of WITHHOLDINGS) {
      const world = worldOf(rows, withholding, seed)
      for (const audits of [false, true]) {
        const verdicts = judgeInProcess(world, audits)
        if (verdicts === undefined) throw new Error('there is too little to learn from')
        outcomes.push(inProcessOutcome(world, audits, seed, verdicts))
        process.stderr.write(`${withholding.name} ${audits ? 'audited ' : ''}seed ${seed}\n`)
      }
      const dealtAnew = judgeInProcess(permuteLabels(world, String(seed)), false) ?? []
      const { n, at_floor } = figuresOf(dealtAnew)
      permuted.push({ withholding: `${withholding.name} seed ${seed}`, seed, n, share: at_floor.share })
    }
  }
  const world = naturalKinds(rows, String(options.seed))
  const verdicts = judgeInProcess(world, false)
  report(options, 'eval-seeds.json', {
    question: 'the same by the mathematics alone, for other plantings',
    provenance: provenance(options.checkout),
    bars: barsOf(outcomes, permuted),
    outcomes,
    permuted,
    ...(verdicts && { kinds: kindsOutcome(world, verdicts) }),
  })
}

function inProcessOutcome(world: PlantedWorld, audits: boolean, seed: number, verdicts: readonly Verdict[]): Outcome {
  const judged = judgedEvents(world)
  const noCost = costsIn(judged, verdicts)
  return {
    withholding: world.withholding.name,
    audits,
    seed,
    product: figuresOf(verdicts),
    ceiling: figuresOf(byCeiling(world, judged, noCost)),
    heuristic: figuresOf(byHeuristic(world, judged, noCost, audits)),
    majority: figuresOf(byMajority(world, judged, noCost, audits)),
  }
}

interface Bar {
  readonly of: string
  readonly figure: number
  readonly bar: string
  readonly isMet: boolean
}

/** What is wanted, fixed before anything was measured. */
function barsOf(
  outcomes: readonly Outcome[],
  permuted: readonly { readonly withholding: string; readonly share: number }[],
): Bar[] {
  const bars = outcomes.flatMap((outcome): Bar[] => {
    const { withholding, audits, seed, product, ceiling, heuristic, majority } = outcome
    const of = (what: string): string => `${withholding}${audits ? ' audited' : ''} seed ${seed}: ${what}`
    const atLeast = (what: string, figure: number, least: number): Bar => ({
      of: of(what),
      figure,
      bar: `at least ${least.toFixed(3)}`,
      isMet: figure >= least,
    })
    const atMost = (what: string, figure: number, most: number): Bar => ({
      of: of(what),
      figure,
      bar: `at most ${most.toFixed(3)}`,
      isMet: figure <= most,
    })
    const precision = product.at_floor.precision ?? 0
    const baseline = Math.max(heuristic.accuracy, majority.accuracy)
    const common = atLeast('accuracy above both baselines', product.accuracy, baseline)
    if (withholding === 'at_random') {
      return [
        common,
        atLeast('precision at 0.80', precision, (ceiling.at_floor.precision ?? 0) - 0.02),
        atMost('calibration error', product.calibration_error.value, 0.05),
      ]
    }
    return [
      common,
      atLeast('precision at 0.80', precision, audits ? 0.92 : 0.88),
      atMost('calibration error', product.calibration_error.value, audits ? 0.05 : 0.08),
      ...(audits ? [atLeast('accuracy ÷ ceiling', product.accuracy / ceiling.accuracy, 0.9)] : []),
    ]
  })
  return [
    ...bars,
    ...permuted.map(({ withholding, share }) => ({
      of: `${withholding} permuted: chargeback-ready inferred records`,
      figure: share,
      bar: 'at most 0.010',
      isMet: share <= 0.01,
    })),
  ]
}

interface Report {
  readonly question: string
  readonly provenance: Provenance
  readonly bars: readonly Bar[]
  readonly seed?: number
  readonly outcomes: readonly Outcome[]
  readonly permuted?: readonly object[]
  readonly kinds?: ReturnType<typeof kindsOutcome>
}

function report(options: EvalOptions, file: string, result: Report): void {
  writeResult(join(options.checkout, 'bench', 'results', file), result)
  const row = (name: string, figures: Figures): string[] => [
    name,
    String(figures.n),
    figures.accuracy.toFixed(3),
    figures.at_floor.share.toFixed(3),
    figures.at_floor.precision?.toFixed(3) ?? '-',
    figures.calibration_error.value.toFixed(3),
    `${figures.shadow.at_floor_wrong} of ${figures.shadow.n}`,
    `${Number(figures.usd.at_floor_wrong).toFixed(2)} of ${Number(figures.usd.at_floor).toFixed(2)}`,
  ]
  const blocks = result.outcomes.flatMap((outcome) => [
    [
      `${outcome.withholding}${outcome.audits ? ', 5 % audits' : ''}, seed ${outcome.seed}`,
      ...Array<string>(7).fill(''),
    ],
    row('  product', outcome.product),
    row('  ceiling', outcome.ceiling),
    row('  heuristic', outcome.heuristic),
    row('  majority class', outcome.majority),
  ])
  const kinds = result.kinds
  const ofKinds =
    kinds === undefined
      ? []
      : [
          ['kind, from token counts alone', ...Array<string>(7).fill('')],
          row('  product', kinds.product),
          row('  heuristic', kinds.heuristic),
          row('  majority class', kinds.majority),
        ]
  const head = ['', 'n', 'accuracy', 'share ≥ 0.80', 'precision', 'ECE', 'shadow wrong', 'USD wrong']
  const bars = result.bars.map(({ of, figure, bar, isMet }) => [of, figure.toFixed(3), bar, isMet ? 'met' : 'NOT met'])
  process.stdout.write(`\n${table([head, ...blocks, ...ofKinds])}\n${table(bars)}`)
}
