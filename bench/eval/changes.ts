import { join } from 'node:path'
import {
  findDrift,
  newClasses,
  type ResolvedEvent,
  SCORED_MAX,
} from '../../internal/attribution/inference/learning/drift.js'
import { RESOLVED_MIN } from '../../internal/attribution/inference/learning/examples.js'
import { type Forgotten, forgetting } from '../../internal/attribution/inference/learning/forget.js'
import type { Model } from '../../internal/attribution/inference/learning/model.js'
import { readTrace, type TraceRow } from '../../internal/local/replay/trace.js'
import { CHARGEBACK_FLOOR } from '../../internal/records/interpretation.js'
import { provenance } from '../machine.js'
import { writeResult } from '../results.js'
import { table } from '../table.js'
import { type Company, type CompanyEvent, companyOf, LENGTH_MS, type Profile, plantCompany } from './companies.js'
import { byModel, type Case, caseOf, directoryOf, modelFrom, recordsOf } from './companies-in-process.js'
import { type Figures, figuresOf } from './figures.js'

/**
 * Question (family d): how soon does the watch see that a company has changed? Half-way its two largest services swap their
 * habits, or a service makes its first call. By the mathematics alone: stage A, training, watch and prediction are the
 * product's, in this process; the watch looks after every ten newly resolved events.
 */
const PROFILE: Profile = { services: 12, largest: 0.3, shadow: 0.05, differ: 1.2 }
const CHANGE_MS = LENGTH_MS / 2
const DAY_MS = 86_400_000
const LABELS = 50
const WATCH_EVENTS = 10

interface SwapOutcome {
  readonly seed: number
  /** Newly resolved events from the swap to the withdrawal; null: it was never withdrawn. */
  readonly withdrawn_after: number | null
  /** What the version said of unresolved events before the swap, and from the swap to the withdrawal. */
  readonly before: Figures
  readonly until_withdrawn: Figures
  /** What the version that the withdrawal trains says of the rest. */
  readonly afterwards: Figures | null
}

interface NewServiceOutcome {
  readonly seed: number
  readonly labels: number
  /** Days from its 50th label to the training that makes it a class; negative: earlier. Null: it became none. */
  readonly class_after_days: number | null
  /** Share of its unresolved calls until then that are claimed for others at 0.80. */
  readonly claimed: number
  /** Share of its unresolved calls from a day after its 50th label on that are named rightly. */
  readonly named: number | null
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
  for (let count = WATCH_EVENTS; count <= resolved.length; count += WATCH_EVENTS) {
    const newest = resolved.slice(Math.max(0, count - SCORED_MAX), count).map(({ read }) => read)
    const drift = findDrift(model, newest, directory, 1)
    if (drift === undefined) continue
    const atMs = resolved[count - 1]?.event.atMs ?? LENGTH_MS
    const next = trained(one, atMs, [{ classes: drift.classes, beforeMs: drift.fromMs }])
    return {
      seed,
      withdrawn_after: count,
      before: figures(model, CHANGE_MS - 2 * DAY_MS, CHANGE_MS),
      until_withdrawn: figures(model, CHANGE_MS, atMs),
      afterwards: next === undefined ? null : figures(next, atMs, LENGTH_MS),
    }
  }
  return {
    seed,
    withdrawn_after: null,
    before: figures(model, CHANGE_MS - 2 * DAY_MS, CHANGE_MS),
    until_withdrawn: figures(model, CHANGE_MS, LENGTH_MS),
    afterwards: null,
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
  const share = (
    by: Model,
    events: readonly CompanyEvent[],
    is: (said: string | undefined, sure: boolean) => boolean,
  ) =>
    byModel(by, one, events).filter(({ said, confidence }) => is(said?.service, confidence >= 0.8)).length /
    Math.max(1, events.length)
  return {
    seed,
    labels: labels.length,
    class_after_days:
      !isClass || foundMs === undefined || fiftiethMs === undefined ? null : (foundMs - fiftiethMs) / DAY_MS,
    claimed: share(model, own(CHANGE_MS, foundMs ?? LENGTH_MS), (said, sure) => sure && said !== name),
    named: next === undefined ? null : share(next, own(dayLaterMs, LENGTH_MS), (said) => said === name),
  }
}

function print(swaps: readonly SwapOutcome[], services: readonly NewServiceOutcome[]): void {
  const of = (figures: Figures | null): string =>
    `${figures?.at_floor.precision?.toFixed(3) ?? '-'} (${figures?.at_floor.share.toFixed(3) ?? '-'})`
  const head = ['swap', 'withdrawn after', 'precision (share) at 0.80 before', 'until withdrawn', 'afterwards']
  const lines = swaps.map((one) => [
    `seed ${one.seed}`,
    `${one.withdrawn_after ?? 'never'}`,
    of(one.before),
    of(one.until_withdrawn),
    of(one.afterwards),
  ])
  process.stdout.write(`\n${table([head, ...lines])}`)
  const newHead = [
    'new service',
    'labels',
    'a class, days after its 50th label',
    'claimed until then',
    'named from a day after it',
  ]
  const newLines = services.map((one) => [
    `seed ${one.seed}`,
    String(one.labels),
    one.class_after_days?.toFixed(2) ?? 'never',
    one.claimed.toFixed(3),
    one.named?.toFixed(3) ?? '-',
  ])
  process.stdout.write(`\n${table([newHead, ...newLines])}`)
}
