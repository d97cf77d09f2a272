import type { Provenance } from '../machine.js'
import { pairedRatio, type Spread, spread } from '../statistics.js'
import { table } from '../table.js'
import type { Measurement } from './measure.js'
import { type LoadSummary, summaryOf } from './report.js'

/** One form of load on the gateway and, beside it, on the bare server. */
export interface Comparison {
  readonly label: string
  readonly ours: LoadSummary
  readonly bare: LoadSummary
  readonly ours_to_bare: Spread
  /** Open loop only: how late the generator itself turned to requests, p99, on the gateway and on the bare server. */
  readonly generator_lag_p99_ms?: { readonly ours: Spread; readonly bare: Spread }
}

/** The form of bench/results/ingest-sweep.json. */
export interface SweepResult {
  readonly question: string
  readonly provenance: Provenance
  readonly generator: string
  readonly load: {
    readonly seconds: number
    readonly repeats: number
    readonly connections: number
    readonly body_bytes: number
    readonly bulk: { readonly connections: number; readonly events: number; readonly body_bytes: number }
  }
  readonly bars: { readonly bulk_to_single: number }
  readonly bulk: Comparison
  readonly single: Comparison
  readonly bulk_to_single: Spread
  readonly connections: readonly Comparison[]
  readonly sizes: readonly Comparison[]
  readonly processes: readonly Comparison[]
  readonly open_loop: readonly Comparison[]
  /** Answered with 202 by a gateway and found in the log. */
  readonly events_counted: number
  /** Of the processors, taken by programs outside the bench during a load on a gateway. */
  readonly strangers_share: Spread | null
}

export function compare(label: string, ours: readonly Measurement[], bare: readonly Measurement[]): Comparison {
  const rates = (of: readonly Measurement[]): number[] => of.map(({ eventsPerSecond }) => eventsPerSecond)
  const lags = (of: readonly Measurement[]): number[] =>
    of.flatMap((one) => ('lagP99Us' in one && typeof one.lagP99Us === 'number' ? one.lagP99Us / 1000 : []))
  return {
    label,
    ours: summaryOf(ours),
    bare: summaryOf(bare),
    ours_to_bare: pairedRatio(rates(ours), rates(bare)),
    ...(lags(ours).length === 0
      ? {}
      : { generator_lag_p99_ms: { ours: spread(lags(ours)), bare: spread(lags(bare)) } }),
  }
}

export function printSweep(result: SweepResult): void {
  const { load, provenance, bulk_to_single: ratio } = result
  const row = ({ label, ours, bare, ours_to_bare }: Comparison): string[] => [
    label,
    Math.round(ours.events_per_s.median).toLocaleString('en'),
    Math.round(bare.events_per_s.median).toLocaleString('en'),
    ours_to_bare.median.toFixed(2),
    ours.p50_ms.median.toFixed(2),
    ours.p99_ms.median.toFixed(2),
    bare.p50_ms.median.toFixed(2),
    bare.p99_ms.median.toFixed(2),
    ours.server_cpu_us?.median.toFixed(1) ?? '-',
  ]
  const head = ['events/s', 'bare', 'ratio', 'p50 ms', 'p99 ms', 'bare p50', 'bare p99', 'gateway cpu us/event']
  const strangers = result.strangers_share
  const toSingle = `${ratio.min.toFixed(2)} to ${ratio.max.toFixed(2)}, median ${ratio.median.toFixed(2)}`
  const isMet = ratio.median >= result.bars.bulk_to_single
  const others =
    strangers === null
      ? ''
      : `Other programs took ${Math.round(strangers.median * 100)} % of the processors ` +
        `(median; at most ${Math.round(strangers.max * 100)} %).\n`
  const commit = `${provenance.commit.slice(0, 7)}${provenance.modified ? ' and changes' : ''}`
  process.stdout.write(`
${provenance.cpu}, ${provenance.cores} cores; ${result.generator}; ${commit}; \
medians of ${load.repeats} repeats of ${load.seconds} s

${table([
  ['closed loop', ...head],
  ...[result.bulk, result.single, ...result.connections, ...result.sizes, ...result.processes].map(row),
])}
${table([['open loop, latency from the time due', ...head], ...result.open_loop.map(row)])}
bulk / single: ${toSingle}; bar >= ${result.bars.bulk_to_single}: ${isMet ? 'met' : 'MISSED'}
Every answer was a 202, and the log holds each of those ${result.events_counted.toLocaleString('en')} events once. \
Bare is one process throughout.
${others}`)
}
