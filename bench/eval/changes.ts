import { join } from 'node:path'
import { newClasses, type ResolvedEvent, SCORED_MAX, scoreServing } from '../../internal/inference/learning/drift.js'
import { type Forgotten, forgetting, RESOLVED_MIN } from '../../internal/inference/learning/examples.js'
import type { Model } from '../../internal/inference/learning/model.js'
import { readTrace, type TraceRow } from '../../internal/local/replay/trace.js'
import { CHARGEBACK_FLOOR } from '../../internal/records/interpretation.js'
import { provenance } from '../machine.js'
import { writeResult } from '../results.js'
import { table } from '../table.js'
import { type Company, type CompanyEvent, companyOf, LENGTH_MS, type Profile, plantCompany } from './companies.js'
import { byModel, type Case, caseOf, directoryOf, learnedFrom, modelFrom, recordsOf } from './companies-in-process.js'
import { byHeuristicOf, byMajorityOf, byNaiveBayes, byPosterior } from './companies-references.js'
import { type Figures, figuresOf, type Verdict } from './figures.js'

/**
 * Question (family d): how soon does the watch see that a company has changed? Half-way its two largest services swap
 * their habits, or a service makes its first call. By the mathematics alone: stage A, training, watch and prediction
 * are the product's, in this process; the watch looks after every ten newly resolved events.
 */
const PROFILE: Profile = { services: 12, largest: 0.3, shadow: 0.05, differ: 1.2 }
const CHANGE_MS = LENGTH_MS / 2
const DAY_MS = 86_400_000
const LABELS = 50
const WATCH_EVENTS = 10

/** What others say: three that learn from the same labels as the product, and the best possible answers. */
type Beside<T> = Readonly<Record<'ceiling' | 'naive_bayes' | 'heuristic' | 'majority', T>>

interface SwapOutcome {
  readonly seed: number
  /** Newly resolved events from the swap to the withdrawal; null: it was never withdrawn. */
  readonly withdrawn_after: number | null
  /** What the version said of unresolved events before the swap, and from the swap to the withdrawal. */
  readonly before: Figures
  readonly until_withdrawn: Figures
  readonly beside_until_withdrawn: Beside<Figures>
  /** What the version that the withdrawal trains says of the rest. */
  readonly afterwards: Figures | null
  readonly beside_afterwards: Beside<Figures> | null
}

interface NewServiceOutcome {
  readonly seed: number
  readonly labels: number
  /** Days from its 50th label to the training that makes it a class; negative: earlier. Null: it became none. */
  readonly class_after_days: number | null
  /** Share of its unresolved calls until then that are claimed for others at 0.80. */
  readonly claimed: number
  /**
   * The ceiling here knows all of the company as it was before the service's first call, and the service not at all.
   */
  readonly claimed_beside: Beside<number>
  /** Share of its unresolved calls from a day after its 50th label on that are named rightly. */
  readonly named: number | null
  readonly named_beside: Beside<number> | null
}

export async function evaluateChanges(options: { checkout: string; seed: number; seeds: number }): Promise<void> {
  const rows = readTrace(join(options.checkout, 'bench', 'data', 'azure-llm-2023.csv'))
  const swaps: SwapOutcome[] = []
  const services: NewServiceOutcome[] = []
  for (let seed = options.seed; seed < options.seed + options.seeds; seed++) {
    swaps.push(await swapOf(rows, seed))
    services.push(await newServiceOf(rows, seed))
    process.stderr.write(`seed ${seed}\n`)
  }
  if (options.seed === 1) {
    writeResult(join(options.checkout, 'bench', 'results', 'eval-changes.json'), {
      question: 'how soon does the watch see that a company has changed',
      provenance: provenance(options.checkout),
      swaps,
      new_services: services,
    })
  }
  print(swaps, services)
}

/** The two largest services of the directory get each other's habits. */
function swapped(company: Company): Company {
  const [one, other] = largestOf(company)
  const habitsOf = (i: number) => company.services[i === one ? other : i === other ? one : i]?.habits
  return {
    ...company,
    services: company.services.map((service, i) => ({ ...service, habits: habitsOf(i) ?? service.habits })),
  }
}

/** The company before the third largest service's first call. */
function without(company: Company): Company {
  const { services } = company
  const [, , third] = largestOf(company)
  const rest = 1 - (services[third]?.share ?? 0)
  return {
    ...company,
    services: services.map((service, i) => ({ ...service, share: i === third ? 0 : service.share / rest })),
  }
}

function largestOf({ services }: Company): readonly [number, number, number] {
  const ranked = [...services.keys()].filter((i) => services[i]?.isShadow === false)
  return ranked.sort((i, j) => (services[j]?.share ?? 0) - (services[i]?.share ?? 0)).slice(0, 3) as [
    number,
    number,
    number,
  ]
}

async function changed(rows: readonly TraceRow[], seed: number, before: Company, after: Company) {
  const phases = [
    { fromMs: 0, company: before },
    { fromMs: CHANGE_MS, company: after },
  ]
  const one = await caseOf(plantCompany(rows, phases, String(seed)))
  const { events } = one.world
  const model = trained(one, CHANGE_MS, [])
  if (model === undefined) throw new Error('there is too little to learn from')
  return { one, events, model }
}

/** @param untilMs what is labelled before it is learned from */
function beside(one: Case, untilMs: number, events: readonly CompanyEvent[]): Beside<readonly Verdict[]> {
  const { world, factsOf } = one
  const known = world.events.filter(({ atMs }) => atMs < untilMs)
  const learned = learnedFrom(recordsOf(one, known, false))
  return {
    ceiling: byPosterior(world, events, ({ isShadow }) => !isShadow),
    naive_bayes: byNaiveBayes(learned, events, factsOf),
    heuristic: byHeuristicOf(learned, events, factsOf),
    majority: byMajorityOf(learned, events),
  }
}

const ofEach = <T>(
  { ceiling, naive_bayes, heuristic, majority }: Beside<readonly Verdict[]>,
  of: (verdicts: readonly Verdict[]) => T,
): Beside<T> => ({
  ceiling: of(ceiling),
  naive_bayes: of(naive_bayes),
  heuristic: of(heuristic),
  majority: of(majority),
})

const trained = (one: Case, untilMs: number, forgotten: readonly Forgotten[]): Model | undefined =>
  modelFrom(
    forgetting(
      recordsOf(
        one,
        one.world.events.filter(({ atMs }) => atMs < untilMs),
        false,
      ),
      forgotten,
    ),
    one,
  )

/** Events that stage A resolved since the change, in order, as the watch reads them. */
function resolvedIn({
  world,
  decided,
  factsOf,
}: Case): { readonly event: CompanyEvent; readonly read: ResolvedEvent }[] {
  return world.events.flatMap((event) => {
    const resolution = decided.get(event)
    if (event.atMs < CHANGE_MS || resolution === undefined || resolution.confidence < CHARGEBACK_FLOOR) return []
    const { service, owner } = resolution
    return [{ event, read: { facts: factsOf(event), label: { service, owner } } }]
  })
}

const unresolvedIn = ({ world, decided }: Case, fromMs: number, toMs: number): CompanyEvent[] =>
  world.events.filter((event) => event.atMs >= fromMs && event.atMs < toMs && decided.get(event) === undefined)

async function swapOf(rows: readonly TraceRow[], seed: number): Promise<SwapOutcome> {
  const company = companyOf(PROFILE, String(seed))
  const { one, model } = await changed(rows, seed, company, swapped(company))
  const resolved = resolvedIn(one)
  const directory = directoryOf(one.world)
  const figures = (by: Model, fromMs: number, toMs: number): Figures =>
    figuresOf(byModel(by, one, unresolvedIn(one, fromMs, toMs)))
  const besides = (untilMs: number, fromMs: number, toMs: number): Beside<Figures> =>
    ofEach(beside(one, untilMs, unresolvedIn(one, fromMs, toMs)), figuresOf)
  for (let count = WATCH_EVENTS; count <= resolved.length; count += WATCH_EVENTS) {
    const newest = resolved.slice(Math.max(0, count - SCORED_MAX), count).map(({ read }) => read)
    const { drift } = scoreServing(model, newest, directory, 1)
    if (drift === undefined) continue
    const atMs = resolved[count - 1]?.event.atMs ?? LENGTH_MS
    const next = trained(one, atMs, [{ classes: drift.classes, beforeMs: drift.fromMs }])
    return {
      seed,
      withdrawn_after: count,
      before: figures(model, CHANGE_MS - 2 * DAY_MS, CHANGE_MS),
      until_withdrawn: figures(model, CHANGE_MS, atMs),
      beside_until_withdrawn: besides(CHANGE_MS, CHANGE_MS, atMs),
      afterwards: next === undefined ? null : figures(next, atMs, LENGTH_MS),
      beside_afterwards: besides(atMs, atMs, LENGTH_MS),
    }
  }
  return {
    seed,
    withdrawn_after: null,
    before: figures(model, CHANGE_MS - 2 * DAY_MS, CHANGE_MS),
    until_withdrawn: figures(model, CHANGE_MS, LENGTH_MS),
    beside_until_withdrawn: besides(CHANGE_MS, CHANGE_MS, LENGTH_MS),
    afterwards: null,
    beside_afterwards: null,
  }
}

async function newServiceOf(rows: readonly TraceRow[], seed: number): Promise<NewServiceOutcome> {
  const company = companyOf(PROFILE, String(seed))
  const { one, model } = await changed(rows, seed, without(company), company)
  const name = company.services[largestOf(company)[2]]?.name
  const resolved = resolvedIn(one)
  const labels = resolved.filter(({ read }) => read.label.service === name)
  const isFound = (count: number): boolean =>
    newClasses(
      model,
      resolved.slice(Math.max(0, count - SCORED_MAX), count).map(({ read }) => read),
      RESOLVED_MIN,
    ).some(({ service }) => service === name)
  let count = WATCH_EVENTS
  while (count <= resolved.length && !isFound(count)) count += WATCH_EVENTS
  const foundMs = count > resolved.length ? undefined : resolved[count - 1]?.event.atMs
  const fiftiethMs = labels[LABELS - 1]?.event.atMs
  const first = foundMs === undefined ? undefined : trained(one, foundMs, [])
  const dayLaterMs = fiftiethMs === undefined ? LENGTH_MS : fiftiethMs + DAY_MS
  // Trainings on a schedule follow, so that a day later a version is hours old.
  const next = dayLaterMs < LENGTH_MS ? trained(one, dayLaterMs, []) : undefined
  const isClass = first?.card.classes.some(({ service }) => service === name) === true
  const own = (fromMs: number, toMs: number) =>
    unresolvedIn(one, fromMs, toMs).filter(({ service }) => service === name)
  const shareOf = (verdicts: readonly Verdict[], is: (said: string | undefined, sure: boolean) => boolean): number =>
    verdicts.filter(({ said, confidence }) => is(said?.service, confidence >= 0.8)).length /
    Math.max(1, verdicts.length)
  const early = own(CHANGE_MS, foundMs ?? LENGTH_MS)
  const [phaseBefore, weightsBefore] = [one.world.phases.slice(0, 1), one.world.weights.slice(0, 1)]
  const worldBefore = { ...one.world, phases: phaseBefore, weights: weightsBefore }
  const claimed = (verdicts: readonly Verdict[]): number => shareOf(verdicts, (said, sure) => sure && said !== name)
  const later = own(dayLaterMs, LENGTH_MS)
  const named = (verdicts: readonly Verdict[]): number => shareOf(verdicts, (said) => said === name)
  return {
    seed,
    labels: labels.length,
    class_after_days:
      !isClass || foundMs === undefined || fiftiethMs === undefined ? null : (foundMs - fiftiethMs) / DAY_MS,
    claimed: claimed(byModel(model, one, early)),
    claimed_beside: ofEach(
      {
        ...beside(one, CHANGE_MS, early),
        ceiling: byPosterior(worldBefore, early, ({ isShadow }) => !isShadow),
      },
      claimed,
    ),
    named: next === undefined ? null : named(byModel(next, one, later)),
    named_beside: next === undefined ? null : ofEach(beside(one, dayLaterMs, later), named),
  }
}

const BESIDE = ['ceiling', 'naive_bayes', 'heuristic', 'majority'] as const

function print(swaps: readonly SwapOutcome[], services: readonly NewServiceOutcome[]): void {
  const of = (figures: Figures | null): string =>
    `${figures?.at_floor.precision?.toFixed(3) ?? '-'} (${figures?.at_floor.share.toFixed(3) ?? '-'})`
  const head = ['swap', 'withdrawn after', 'precision (share) at 0.80 before', 'until withdrawn', 'afterwards']
  const besideOf = (figures: Beside<Figures> | null, name: keyof Beside<Figures>): string =>
    of(figures === null ? null : figures[name])
  const lines = swaps.flatMap((one) => [
    [
      `seed ${one.seed}`,
      `${one.withdrawn_after ?? 'never'}`,
      of(one.before),
      of(one.until_withdrawn),
      of(one.afterwards),
    ],
    ...BESIDE.map((name) => [
      `  ${name}`,
      '',
      '',
      besideOf(one.beside_until_withdrawn, name),
      besideOf(one.beside_afterwards, name),
    ]),
  ])
  process.stdout.write(`\n${table([head, ...lines])}`)
  const newHead = [
    'new service',
    'labels',
    'a class, days after its 50th label',
    'claimed until then',
    ...BESIDE,
    'named from a day after it',
    ...BESIDE,
  ]
  const newLines = services.map((one) => [
    `seed ${one.seed}`,
    String(one.labels),
    one.class_after_days?.toFixed(2) ?? 'never',
    one.claimed.toFixed(3),
    ...BESIDE.map((name) => one.claimed_beside[name].toFixed(3)),
    one.named?.toFixed(3) ?? '-',
    ...BESIDE.map((name) => one.named_beside?.[name].toFixed(3) ?? '-'),
  ])
  process.stdout.write(`\n${table([newHead, ...newLines])}`)
}
