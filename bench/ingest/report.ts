import type { Provenance } from '../machine.js'
import { pairedRatio, type Spread, spread } from '../statistics.js'
import { table } from '../table.js'
import type { Measurement } from './measure.js'

const BARS = { ours_to_bare: 0.5, ours_to_fastify: 5, light_p99_added_ms: 5 } as const

export interface IngestFacts {
  readonly provenance: Provenance
  readonly generator: string
  readonly load: {
    readonly connections: number
    readonly seconds: number
    readonly repeats: number
    readonly body_bytes: number
    readonly light: { readonly connections: number; readonly pauseMs: number }
  }
  /** Of the log, over all loads on the gateway. */
  readonly eventsPerMessage: number
  readonly runs: Readonly<Record<string, readonly Measurement[]>>
}

export interface LoadSummary {
  readonly events_per_s: Spread
  readonly p50_ms: Spread
  readonly p99_ms: Spread
  readonly server_cpu_us: Spread | null
  readonly broker_cpu_us: Spread | null
  readonly generator_cpu_us: Spread | null
}

/** The form of bench/results/ingest.json. */
export interface IngestResult {
  readonly question: string
  readonly provenance: Provenance
  readonly generator: string
  readonly load: IngestFacts['load']
  readonly bars: typeof BARS
  readonly ratios: {
    readonly ours_to_bare: Spread
    readonly ours_to_fastify: Spread
    readonly ours_to_bare_while_attributing: Spread
    readonly light_p99_added_ms: Spread
  }
  readonly loads: Readonly<Record<string, LoadSummary>>
  readonly events_per_message: number
  /** Of the processors, taken by programs outside the bench during a load. */
  readonly strangers_share: Spread | null
}

export function summarise({ provenance, generator, load, eventsPerMessage, runs }: IngestFacts): IngestResult {
  const rates = (label: string): number[] => (runs[label] ?? []).map(({ eventsPerSecond }) => eventsPerSecond)
  const p99 = (label: string): number[] => (runs[label] ?? []).map(({ p99Us }) => p99Us / 1000)
  const lightBare = p99('light bare')
  const strangers = Object.values(runs).flatMap((of) => of.flatMap(({ strangersShare }) => strangersShare ?? []))
  return {
    question: 'single-event ingest, everything on, against a bare server and against Fastify + zod + js.publish',
    provenance,
    generator,
    load,
    bars: BARS,
    ratios: {
      ours_to_bare: pairedRatio(rates('ours'), rates('bare')),
      ours_to_fastify: pairedRatio(rates('ours'), rates('fastify')),
      ours_to_bare_while_attributing: pairedRatio(rates('attributing ours'), rates('attributing bare')),
      light_p99_added_ms: spread(p99('light ours').map((ms, i) => ms - (lightBare[i] ?? Number.NaN))),
    },
    loads: Object.fromEntries(Object.entries(runs).map(([label, of]) => [label, summaryOf(of)])),
    events_per_message: eventsPerMessage,
    strangers_share: strangers.length === 0 ? null : spread(strangers),
  }
}

export const summaryOf = (of: readonly Measurement[]): LoadSummary => ({
  events_per_s: spread(of.map(({ eventsPerSecond }) => eventsPerSecond)),
  p50_ms: spread(of.map(({ p50Us }) => p50Us / 1000)),
  p99_ms: spread(of.map(({ p99Us }) => p99Us / 1000)),
  server_cpu_us: spreadOfKnown(of.map(({ serverCpuUs }) => serverCpuUs)),
  broker_cpu_us: spreadOfKnown(of.map(({ brokerCpuUs }) => brokerCpuUs)),
  generator_cpu_us: spreadOfKnown(of.map(({ generatorCpuUs }) => generatorCpuUs)),
})

function spreadOfKnown(values: readonly (number | undefined)[]): Spread | null {
  const known = values.filter((value) => value !== undefined)
  return known.length === 0 ? null : spread(known)
}

const NAMES: readonly (readonly [label: string, name: string])[] = [
  ['bare', 'bare uWebSockets.js'],
  ['ours', 'gateway'],
  ['fastify', 'Fastify + zod + js.publish'],
  ['attributing bare', 'bare, store and attributor running'],
  ['attributing ours', 'gateway, store and attributor running'],
  ['light bare', 'light load: bare'],
  ['light ours', 'light load: gateway'],
]

/** @param earlierResult of an earlier run, whose ratios are printed beside these if the generator was the same */
export function printReport(result: IngestResult, earlierResult: IngestResult | undefined): void {
  const before = earlierResult?.generator === result.generator ? earlierResult : undefined
  // A generator that is slower than the bare server measures itself there, and would let the gateway look good.
  const isJudged = result.generator.startsWith('wrk')
  const { provenance, load, loads, ratios } = result
  const whole = (value: number): string => Math.round(value).toLocaleString('en-US')
  const ms = (value: number): string => value.toFixed(2)
  const us = (value: Spread | null): string => (value === null ? '-' : value.median.toFixed(1))
  const loadRows = NAMES.flatMap(([label, name]) => {
    const of = loads[label]
    if (of === undefined) return []
    const { events_per_s: rate, p50_ms: p50, p99_ms: p99 } = of
    return [
      [
        name,
        whole(rate.min),
        whole(rate.median),
        whole(rate.max),
        ms(p50.median),
        ms(p99.median),
        ms(p99.max),
        us(of.server_cpu_us),
        us(of.broker_cpu_us),
        us(of.generator_cpu_us),
      ],
    ]
  })
  const ratioRow = (
    name: string,
    key: keyof IngestResult['ratios'],
    bar: string,
    isMet: boolean | undefined,
  ): string[] => {
    const { min, median, max } = ratios[key]
    const earlier = before?.ratios[key].median.toFixed(2) ?? '-'
    return [
      name,
      min.toFixed(2),
      median.toFixed(2),
      max.toFixed(2),
      bar,
      isMet === undefined ? '' : !isJudged ? 'not judged' : isMet ? 'met' : 'MISSED',
      earlier,
    ]
  }
  const earlier = before === undefined ? 'before' : before.provenance.commit.slice(0, 7)

  const commit = `${provenance.commit.slice(0, 7)}${provenance.modified ? ' and changes' : ''}`
  process.stdout.write(`
Single-event ingest, ${load.body_bytes} bytes an event; ${result.generator}, ${load.connections} connections
${provenance.cpu}, ${provenance.cores} cores, Node ${provenance.node}; ${commit}; \
${load.repeats} repeats of ${load.seconds} s

${table([
  ['', 'events/s min', 'median', 'max', 'p50 ms', 'p99 ms', 'p99 max', 'cpu us/event: server', 'broker', 'generator'],
  ...loadRows,
])}
${table([
  ['median of neighbours', 'min', 'median', 'max', 'bar', '', earlier],
  ratioRow(
    'gateway / bare',
    'ours_to_bare',
    `>= ${BARS.ours_to_bare.toFixed(2)}`,
    ratios.ours_to_bare.median >= BARS.ours_to_bare,
  ),
  ratioRow(
    'gateway / Fastify',
    'ours_to_fastify',
    `>= ${BARS.ours_to_fastify}`,
    ratios.ours_to_fastify.median >= BARS.ours_to_fastify,
  ),
  ratioRow('gateway / bare while attributing', 'ours_to_bare_while_attributing', 'none', undefined),
  ratioRow(
    'p99 that light load waits longer, ms',
    'light_p99_added_ms',
    `<= ${BARS.light_p99_added_ms}`,
    ratios.light_p99_added_ms.median <= BARS.light_p99_added_ms,
  ),
])}
Every answer was a 202, and the log holds each of those events once (${result.events_per_message.toFixed(1)} a message).
The generator's own ceiling is its rate on the bare server.${isJudged ? '' : ' It is too slow to judge by: have wrk.'}
${strangersLine(result.strangers_share)}`)
}

function strangersLine(share: Spread | null): string {
  if (share === null) return ''
  const percent = (value: number): number => Math.round(value * 100)
  const judgement = share.median > 0.05 ? ': trust the ratios, not the rates, and repeat on a quiet machine' : ''
  const [median, max] = [percent(share.median), percent(share.max)]
  return `Other programs took ${median} % of the processors during a load (median; at most ${max} %)${judgement}.\n`
}
