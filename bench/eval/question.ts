import { join } from 'node:path'
import { readTrace, type TraceRow } from '../../internal/local/replay/trace.js'
import { zero } from '../../internal/units/quantity.js'
import { type Provenance, provenance } from '../machine.js'
import { privateRun } from '../private-run.js'
import { readResult, writeResult } from '../results.js'
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
  /** This many seeds, beginning with `seed`, without the product: the mathematics alone. */
  readonly inProcess: number
  /** Names of trials; the others' results stay as they are. Empty: all. */
  readonly only: readonly string[]
}

interface Outcome {
  readonly withholding: string
  readonly audits: boolean
  readonly seed: number
  readonly provenance?: Provenance
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

/** One tenant's trial each. */
const TRIALS = WITHHOLDINGS.flatMap((withholding) =>
  (['plain', 'audited', 'permuted'] as const).map((kind) => ({
    name: `${withholding.name}_${kind}`,
    withholding,
    kind,
  })),
)
const KINDS = 'kinds'
export const TRIAL_NAMES: readonly string[] = [...TRIALS.map(({ name }) => name), KINDS]

interface Results {
  readonly outcomes: readonly Outcome[]
  readonly permuted: readonly Permuted[]
  readonly kinds?: Kinds
}

interface Permuted {
  readonly withholding: string
  readonly seed: number
  readonly n: number
  /** Chargeback-ready inferred records. */
  readonly share: number
}

async function evaluateProduct(rows: readonly TraceRow[], product: Product, options: EvalOptions): Promise<void> {
  const file = join(options.checkout, 'bench', 'results', FILE)
  const isWanted = (name: string): boolean => options.only.length === 0 || options.only.includes(name)
  let results: Results = (options.only.length > 0 ? readResult<Results>(file) : undefined) ?? {
    outcomes: [],
    permuted: [],
  }
  const from = provenance(options.checkout)
  // Written after each trial: figures are kept, however the run ends.
  const keep = (more: Partial<Results>): void => {
    results = { ...results, ...more }
    writeResult(file, { question: QUESTION, ...results, bars: barsOf(results.outcomes, results.permuted) })
  }
  for (const { name, withholding, kind } of TRIALS.filter(({ name }) => isWanted(name))) {
    process.stderr.write(`${name}\n`)
    const world = worldOf(rows, withholding, options.seed)
    const audits = kind === 'audited'
    if (kind === 'permuted') {
      const dealtAnew = permuteLabels(world, String(options.seed))
      const trial = await runTrial(product, name, dealtAnew, audits, STRETCHED_MS)
      const n = trial.judged.length
      const one = { withholding: withholding.name, seed: options.seed, n, share: trial.chargeback_ready_inferred / n }
      const others = results.permuted.filter((other) => other.withholding !== withholding.name)
      keep({ permuted: [...others, { ...one, training: trial.training, provenance: from } as Permuted] })
      continue
    }
    const { judged, verdicts, costOf, ...trial } = await runTrial(product, name, world, audits, STRETCHED_MS)
    const outcome: Outcome = {
      withholding: withholding.name,
      audits,
      seed: options.seed,
      provenance: from,
      product: figuresOf(verdicts),
      ceiling: figuresOf(byCeiling(world, judged, costOf)),
      heuristic: figuresOf(byHeuristic(world, judged, costOf, audits)),
      majority: figuresOf(byMajority(world, judged, costOf, audits)),
      trial,
    }
    const others = results.outcomes.filter((other) => other.withholding !== withholding.name || other.audits !== audits)
    keep({ outcomes: [...others, outcome] })
  }
  if (isWanted(KINDS)) {
    process.stderr.write(`${KINDS}\n`)
    keep({ kinds: { ...(await evaluateKinds(rows, product, options.seed)), provenance: from } })
  }
  print(results)
}

const FILE = 'eval.json'
const QUESTION =
  'of events whose labels were withheld, how often is what the product says right, and does it know how often'

type Kinds = ReturnType<typeof kindsOutcome> & { readonly provenance?: Provenance }

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
  const permuted: Permuted[] = []
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
      permuted.push({ withholding: withholding.name, seed, n, share: at_floor.share })
    }
  }
  const world = naturalKinds(rows, String(options.seed))
  const verdicts = judgeInProcess(world, false)
  const results: Results = { outcomes, permuted, ...(verdicts && { kinds: kindsOutcome(world, verdicts) }) }
  writeResult(join(options.checkout, 'bench', 'results', 'eval-seeds.json'), {
    question: `${QUESTION}: the same by the mathematics alone, for other plantings`,
    provenance: provenance(options.checkout),
    ...results,
    bars: barsOf(outcomes, permuted),
  })
  print(results)
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

/** The bars, fixed before anything was measured. */
function barsOf(outcomes: readonly Outcome[], permuted: readonly Permuted[]): Bar[] {
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
    ...permuted.map(({ withholding, seed, share }) => ({
      of: `${withholding} permuted seed ${seed}: chargeback-ready inferred records`,
      figure: share,
      bar: 'at most 0.010',
      isMet: share <= 0.01,
    })),
  ]
}

function print({ outcomes, permuted, kinds }: Results): void {
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
  const blocks = outcomes.flatMap((outcome) => [
    [
      `${outcome.withholding}${outcome.audits ? ', 5 % audits' : ''}, seed ${outcome.seed}`,
      ...Array<string>(7).fill(''),
    ],
    row('  product', outcome.product),
    row('  ceiling', outcome.ceiling),
    row('  heuristic', outcome.heuristic),
    row('  majority class', outcome.majority),
  ])
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
  const bars = barsOf(outcomes, permuted).map(({ of, figure, bar, isMet }) => [
    of,
    figure.toFixed(3),
    bar,
    isMet ? 'met' : 'NOT met',
  ])
  process.stdout.write(`\n${table([head, ...blocks, ...ofKinds])}\n${table(bars)}`)
}
