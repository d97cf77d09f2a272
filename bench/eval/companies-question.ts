import { join } from 'node:path'
import { readTrace } from '../../internal/local/replay/trace.js'
import { provenance } from '../machine.js'
import { writeResult } from '../results.js'
import { table } from '../table.js'
import { companyOf, type Profile, plantCompany, profileOf } from './companies.js'
import { byModel, type Case, caseOf, learnedFrom, modelFrom, permuted, recordsOf } from './companies-in-process.js'
import { byHeuristicOf, byMajorityOf, byNaiveBayes, byPosterior } from './companies-references.js'
import { type Figures, figuresOf } from './figures.js'

/**
 * Question: of events of a company that stage A left over by its own rules, how often is what a model says right, and
 * does it know how often? By the mathematics alone: stage A, training and prediction are the product's, in this
 * process.
 */
export interface CompaniesOptions {
  readonly checkout: string
  /** The first seed; 1 to 5 are judged, those from 101 on are for choices. */
  readonly seed: number
  readonly seeds: number
}

export interface CompanyOutcome {
  readonly seed: number
  readonly profile: Profile
  readonly audits: boolean
  /** Share of the history that stage A resolved. */
  readonly resolved: number
  readonly seconds: number
  readonly gate: { readonly isPassed: boolean; readonly reasons: readonly string[] } | undefined
  readonly unknown: number | undefined
  /** Share of the judged events that are a shadow service's. */
  readonly shadow: number
  readonly product: Figures
  /** Knows the shadow services and their names. */
  readonly ceiling: Figures
  /** Knows the shadow services, but not their names, which without audits nobody has said. */
  readonly ceiling_unnamed: Figures
  readonly naive_bayes: Figures
  readonly heuristic: Figures
  readonly majority: Figures
  /** Of a training on permuted labels: share at 0.80 or above. */
  readonly permuted: number | undefined
}

export async function evaluateCompanies(options: CompaniesOptions): Promise<void> {
  const rows = readTrace(join(options.checkout, 'bench', 'data', 'azure-llm-2023.csv'))
  const outcomes: CompanyOutcome[] = []
  for (let seed = options.seed; seed < options.seed + options.seeds; seed++) {
    const profile = profileOf(seed)
    const company = companyOf(profile, String(seed))
    const one = await caseOf(plantCompany(rows, [{ fromMs: 0, company }], String(seed)))
    for (const audits of [false, true]) {
      const outcome = outcomeOf(one, seed, profile, audits)
      outcomes.push(outcome)
      process.stderr.write(`${lineOf(outcome)}\n`)
    }
  }
  if (options.seed === 1) {
    writeResult(join(options.checkout, 'bench', 'results', 'eval-companies.json'), {
      question: 'of what stage A left over by its own rules, how often is what a model says right, and does it know',
      provenance: provenance(options.checkout),
      outcomes,
      bars: barsOf(outcomes),
    })
  }
  print(outcomes)
}

function outcomeOf(one: Case, seed: number, profile: Profile, audits: boolean): CompanyOutcome {
  const { world, judged, history, factsOf } = one
  const records = recordsOf(one, history, audits)
  const learned = learnedFrom(records)
  const from = performance.now()
  const model = modelFrom(records, one)
  const seconds = (performance.now() - from) / 1_000
  const dealt = audits ? undefined : modelFrom(permuted(records, String(seed)), one)
  return {
    seed,
    profile,
    audits,
    resolved: records.filter(({ outcome }) => outcome.kind === 'resolved').length / records.length,
    seconds,
    gate: model?.card.gate,
    unknown: model?.card.unknownShare,
    shadow: judged.filter(({ isShadow }) => isShadow).length / judged.length,
    product: figuresOf(byModel(model, one, judged)),
    ceiling: figuresOf(byPosterior(world, judged, () => true)),
    ceiling_unnamed: figuresOf(byPosterior(world, judged, ({ isShadow }) => !isShadow)),
    naive_bayes: figuresOf(byNaiveBayes(learned, judged, factsOf)),
    heuristic: figuresOf(byHeuristicOf(learned, judged, factsOf)),
    majority: figuresOf(byMajorityOf(learned, judged)),
    permuted: audits ? undefined : figuresOf(byModel(dealt, one, judged)).at_floor.share,
  }
}

const mean = (list: readonly number[]): number => list.reduce((sum, one) => sum + one, 0) / list.length

/** Who could name nobody better: without audits nobody has said a shadow service's name. */
const reachable = ({ audits, ceiling, ceiling_unnamed }: CompanyOutcome): Figures =>
  audits ? ceiling : ceiling_unnamed

interface Bar {
  readonly of: string
  readonly figure: number
  readonly bar: string
  readonly isMet: boolean
}

function barsOf(outcomes: readonly CompanyOutcome[]): Bar[] {
  const atLeast = (of: string, figure: number, least: number): Bar => ({
    of,
    figure,
    bar: `at least ${least}`,
    isMet: figure >= least,
  })
  const atMost = (of: string, figure: number, most: number): Bar => ({
    of,
    figure,
    bar: `at most ${most}`,
    isMet: figure <= most,
  })
  return [false, true].flatMap((audits) => {
    const own = outcomes.filter((outcome) => outcome.audits === audits)
    if (own.length === 0) return []
    const name = audits ? '5 % audits' : 'no audits'
    const ratios = own.map((outcome) => outcome.product.accuracy / reachable(outcome).accuracy)
    const precisions = own.map(
      (outcome) => (reachable(outcome).at_floor.precision ?? 1) - (outcome.product.at_floor.precision ?? 0),
    )
    const shadows = own.filter(({ product }) => product.shadow.n > 0)
    const claimed = shadows.map(({ product: { shadow } }) => shadow.at_floor_wrong / shadow.n)
    return [
      atLeast(`${name}: accuracy ÷ ceiling, mean`, mean(ratios), audits ? 0.94 : 0.9),
      atLeast(`${name}: accuracy ÷ ceiling, worst seed`, Math.min(...ratios), 0.8),
      atMost(`${name}: precision at 0.80 below the ceiling's, mean`, mean(precisions), audits ? 0.02 : 0.03),
      atMost(`${name}: calibration error, mean`, mean(own.map(({ product }) => product.calibration_error.value)), 0.04),
      ...(claimed.length === 0 ? [] : [atMost(`${name}: shadow events claimed at 0.80, mean`, mean(claimed), 0.2)]),
      ...(audits
        ? []
        : [atMost(`${name}: permuted labels at 0.80, most`, Math.max(...own.map((one) => one.permuted ?? 0)), 0.01)]),
    ]
  })
}

function lineOf(outcome: CompanyOutcome): string {
  const { seed, audits, profile, product, gate } = outcome
  const of = reachable(outcome)
  return [
    `seed ${seed}${audits ? ' audited' : ''}`,
    `services ${profile.services} largest ${profile.largest.toFixed(2)} shadow ${profile.shadow.toFixed(2)} ` +
      `differ ${profile.differ.toFixed(1)}`,
    `n ${product.n} acc ${product.accuracy.toFixed(3)} ceil ${of.accuracy.toFixed(3)} (full ` +
      `${outcome.ceiling.accuracy.toFixed(3)}) nb ${outcome.naive_bayes.accuracy.toFixed(3)}`,
    `ratio ${(product.accuracy / of.accuracy).toFixed(3)}`,
    `floor ${product.at_floor.share.toFixed(3)} prec ${product.at_floor.precision?.toFixed(3)} ceil ` +
      `${of.at_floor.share.toFixed(3)} ${of.at_floor.precision?.toFixed(3)}`,
    `ece ${product.calibration_error.value.toFixed(3)}`,
    `shadow ${outcome.shadow.toFixed(3)} claimed ${product.shadow.at_floor_wrong}/${product.shadow.n} (ceil ` +
      `${of.shadow.at_floor_wrong}) unknown ${outcome.unknown?.toFixed(3)}`,
    `perm ${outcome.permuted?.toFixed(3)}`,
    `${outcome.seconds.toFixed(1)} s`,
    gate === undefined ? 'no model' : gate.isPassed ? 'passed' : gate.reasons.join(' '),
  ].join(' | ')
}

function print(outcomes: readonly CompanyOutcome[]): void {
  const row = (name: string, figures: Figures): string[] => [
    name,
    String(figures.n),
    figures.accuracy.toFixed(3),
    figures.at_floor.share.toFixed(3),
    figures.at_floor.precision?.toFixed(3) ?? '-',
    figures.calibration_error.value.toFixed(3),
    `${figures.shadow.at_floor_wrong} of ${figures.shadow.n}`,
  ]
  const blocks = outcomes.flatMap((outcome) => [
    [`seed ${outcome.seed}${outcome.audits ? ', 5 % audits' : ''}`, ...Array<string>(6).fill('')],
    row('  product', outcome.product),
    row('  ceiling', outcome.ceiling),
    row('  ceiling without names of the shadow', outcome.ceiling_unnamed),
    row('  naive Bayes', outcome.naive_bayes),
    row('  heuristic', outcome.heuristic),
    row('  majority class', outcome.majority),
  ])
  const head = ['', 'n', 'accuracy', 'share ≥ 0.80', 'precision', 'ECE', 'shadow wrong']
  const bars = barsOf(outcomes).map(({ of, figure, bar, isMet }) => [
    of,
    figure.toFixed(3),
    bar,
    isMet ? 'met' : 'NOT met',
  ])
  process.stdout.write(`\n${table([head, ...blocks])}\n${table(bars)}`)
}
