import { Counter, Gauge, Histogram, type Metric, Registry } from 'prom-client'

/**
 * The metrics of this process, in the form of Prometheus. Labels are bounded by the code: none has a tenant, an
 * identity or anything else that comes from outside. Figures of money are sums of exact amounts, rounded when they are
 * read.
 */
export const METRICS = new Registry()

const PREFIX = 'attribution_'

/** @param name without the prefix; ends in `_total` */
export const counter = <L extends string = never>(name: string, help: string, labelNames: readonly L[] = []) =>
  new Counter<L>({ name: PREFIX + name, help, labelNames: [...labelNames], registers: [METRICS] })

export const gauge = <L extends string = never>(name: string, help: string, labelNames: readonly L[] = []) =>
  new Gauge<L>({ name: PREFIX + name, help, labelNames: [...labelNames], registers: [METRICS] })

export const histogram = <L extends string = never>(
  name: string,
  help: string,
  buckets: readonly number[],
  labelNames: readonly L[] = [],
) =>
  new Histogram<L>({
    name: PREFIX + name,
    help,
    buckets: [...buckets],
    labelNames: [...labelNames],
    registers: [METRICS],
  })

/** Seconds, from a millisecond to half a minute. */
export const SECONDS_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const

/** One series of a `TimeHistogram`. */
export class TimeSeries {
  /** By bucket; the last one is above every bound. */
  readonly counts = new Float64Array(SECONDS_BUCKETS.length + 1)
  sumMs = 0

  observeMs(ms: number): void {
    let at = 0
    while (at < BOUNDS_MS.length && ms > (BOUNDS_MS[at] as number)) at++
    this.counts[at] = (this.counts[at] as number) + 1
    this.sumMs += ms
  }
}

const BOUNDS_MS = SECONDS_BUCKETS.map((seconds) => seconds * 1_000)

/**
 * A histogram of seconds for paths that every request or event takes: an observation through a series that the caller
 * holds costs some nanoseconds. One of prom-client costs a microsecond, most of it for finding the series.
 */
export class TimeHistogram<L extends string> {
  private readonly name: string
  private readonly help: string
  private readonly label: L
  private readonly series = new Map<string, TimeSeries>()

  /** @param name without the prefix; ends in `_seconds` */
  constructor(name: string, help: string, label: L) {
    this.name = PREFIX + name
    this.help = help
    this.label = label
    // prom-client declares metrics as its own classes, and reads only these members.
    METRICS.registerMetric({ name: this.name, get: () => this.get() } as unknown as Metric)
  }

  /** The series of a label's value, to be held by the caller. */
  of(value: string): TimeSeries {
    let series = this.series.get(value)
    if (series === undefined) {
      series = new TimeSeries()
      this.series.set(value, series)
    }
    return series
  }

  /** In the form of prom-client's histograms. */
  private get() {
    const values = [...this.series].flatMap(([value, { counts, sumMs }]) => {
      const labels = { [this.label]: value }
      let count = 0
      const buckets = [...counts].map((own, at) => {
        count += own
        const le = SECONDS_BUCKETS[at] ?? '+Inf'
        return { metricName: `${this.name}_bucket`, labels: { le, ...labels }, value: count }
      })
      return [
        ...buckets,
        { metricName: `${this.name}_sum`, labels, value: sumMs / 1_000 },
        { metricName: `${this.name}_count`, labels, value: count },
      ]
    })
    return { name: this.name, help: this.help, type: 'histogram', values, aggregator: 'sum' }
  }
}

type GaugeUpdate = () => void | Promise<void>
const gaugeUpdates = new Set<GaugeUpdate>()

/**
 * Sets gauges when the metrics are read, so that gauges nobody reads cost nothing.
 *
 * @returns removes the update
 */
export function whenRead(update: GaugeUpdate): () => void {
  gaugeUpdates.add(update)
  return () => void gaugeUpdates.delete(update)
}

/** A store or a broker that hangs must not hide the metrics by which that shows. */
const UPDATE_MS_MAX = 1_500
/** Updates that have not ended. None is started twice at a time. */
const running = new Map<GaugeUpdate, Promise<void>>()

/**
 * Sets all gauges. Gauges of an update that takes longer than 1.5 s keep their last values until it ends.
 *
 * @param failed called with what an update throws; its gauges keep their last values
 */
export async function readAll(failed: (cause: unknown) => void): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, UPDATE_MS_MAX)
  })
  await Promise.race([late, Promise.all([...gaugeUpdates].map((update) => updateOnce(update, failed)))])
  clearTimeout(timer)
}

function updateOnce(update: GaugeUpdate, failed: (cause: unknown) => void): Promise<void> {
  const begun = running.get(update)
  if (begun !== undefined) return begun
  const done = (async () => update())()
    .catch(failed)
    .finally(() => running.delete(update))
  running.set(update, done)
  return done
}
