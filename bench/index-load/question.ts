import { join } from 'node:path'
import type { ClickHouseClient } from '@clickhouse/client'
import type { AdmissionHistory, IndexOwners, LoadedIndex, Missing } from '../../internal/ingest/keys/load-index.js'
import { createIndexLoader } from '../../internal/ingest/keys/load-index.js'
import { emptyIndex } from '../../internal/ingest/keys/open-index.js'
import { KeyOwners } from '../../internal/ingest/peers/key-owners.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { connectStore } from '../../internal/store/client.js'
import { admissionKeysSince } from '../../internal/store/queries/attribution/admission-keys.js'
import { recordedEventsSince } from '../../internal/store/queries/records/sources.js'
import { createLog } from '../../internal/telemetry/log.js'
import { provenance } from '../machine.js'
import { privateRun } from '../private-run.js'
import type { Processes } from '../processes.js'
import { startQueryStore } from '../query/store.js'
import { writeResult } from '../results.js'
import { pairedRatio, type Spread, spread } from '../statistics.js'
import { table } from '../table.js'
import { loadAsBefore } from './before.js'
import { fill } from './data.js'

/**
 * Question: what does a gateway load when it starts as one of five, and what when one of five has left?
 *
 * Bar: one of five is ready in a quarter of the time in which a gateway loaded everything before, and its memory is in
 * proportion to its share. In each round: everything as before; everything as now; the share of one of five; what falls
 * to one of the four that remain.
 */
export interface IndexLoadOptions {
  readonly checkout: string
  readonly repeats: number
  /** Keys of 24 hours, and as many events of 7 days. */
  readonly keys: number
}

const BAR = 0.25
const GATEWAYS = ['gw-1', 'gw-2', 'gw-3', 'gw-4', 'gw-5']
const [SELF = '', ...OTHERS] = GATEWAYS
const LOADS = ['before', 'alone', 'one_of_five', 'after_departure'] as const
type LoadName = (typeof LOADS)[number]

interface Measured {
  readonly seconds: number
  readonly keys: number
  readonly events: number
  /** Of tables and filters. */
  readonly megabytes: number
}

export const indexLoad = (options: IndexLoadOptions, signal: AbortSignal): Promise<void> =>
  privateRun(options.checkout, 'index-load', signal, (folder, processes) => answer(options, folder, processes))

async function answer(options: IndexLoadOptions, folder: string, processes: Processes): Promise<void> {
  const store = connectStore(await startQueryStore(options.checkout, folder, await freePort(), processes))
  const nowMs = Date.now()
  await fill(store, options.keys, nowMs)
  const rounds: Record<LoadName, Measured>[] = []
  // The first round warms the caches of the store and the compiler, and is not counted.
  for (let round = 0; round <= options.repeats; round++) {
    const measured: Partial<Record<LoadName, Measured>> = {}
    const order = round % 2 === 0 ? LOADS : [...LOADS].reverse()
    for (const name of order) measured[name] = await measure(name, store, nowMs)
    process.stderr.write(`${round}/${options.repeats}: ${JSON.stringify(measured)}\n`)
    if (round > 0) rounds.push(measured as Record<LoadName, Measured>)
  }
  await store.close()
  report(options, rounds)
}

async function measure(name: LoadName, store: ClickHouseClient, nowMs: number): Promise<Measured> {
  const owners = new KeyOwners(SELF)
  const index = emptyIndex(owners)
  const startedAt = performance.now()
  switch (name) {
    case 'before':
      await loadAsBefore(store, index, nowMs)
      break
    case 'alone':
      await load(store, index, owners, nowMs)
      break
    case 'one_of_five':
      owners.setMembers(GATEWAYS)
      await load(store, index, owners, nowMs)
      break
    case 'after_departure': {
      owners.setMembers(GATEWAYS)
      const left = [SELF, ...OTHERS.slice(1)]
      const gained = owners.setMembers(left)
      await load(store, index, owners, nowMs, { gained, unheardMs: 0 })
    }
  }
  const { keys, events } = index
  return {
    seconds: (performance.now() - startedAt) / 1_000,
    keys: keys.exactKeys,
    events: events.exactKeys,
    megabytes: (keys.exactBytes + keys.filterBytes + events.exactBytes + events.filterBytes) / 1e6,
  }
}

/** @returns once everything is loaded, as the gateway's loader does it. The log is empty. */
async function load(
  store: ClickHouseClient,
  index: LoadedIndex,
  owners: IndexOwners,
  nowMs: number,
  missing?: Missing,
): Promise<void> {
  const history: AdmissionHistory = {
    // No event waits in the log.
    async *pending() {
      yield* []
    },
    keysSince: (slots, sinceMs) => admissionKeysSince(store, slots, sinceMs),
    eventsSince: (slots, sinceMs) => recordedEventsSince(store, slots, sinceMs),
  }
  const nobody = { ask: () => undefined }
  const loader = createIndexLoader(index, owners, history, nobody, {
    clock: () => nowMs,
    isBrokerAnswering: () => true,
    log: createLog('bench', 'silent'),
  })
  await loader.load(missing)
  await loader.loaded()
}

function report({ checkout, keys }: IndexLoadOptions, rounds: readonly Record<LoadName, Measured>[]): void {
  const of = (name: LoadName, read: (measured: Measured) => number): number[] =>
    rounds.map((round) => read(round[name]))
  const figures = Object.fromEntries(
    LOADS.map((name) => [
      name,
      {
        seconds: spread(of(name, ({ seconds }) => seconds)),
        div_before: pairedRatio(
          of(name, ({ seconds }) => seconds),
          of('before', ({ seconds }) => seconds),
        ),
        megabytes: spread(of(name, ({ megabytes }) => megabytes)).median,
        keys_loaded: spread(of(name, (measured) => measured.keys)).median,
        events_loaded: spread(of(name, ({ events }) => events)).median,
      },
    ]),
  ) as Record<
    LoadName,
    { seconds: Spread; div_before: Spread; megabytes: number; keys_loaded: number; events_loaded: number }
  >
  writeResult(join(checkout, 'bench', 'results', 'index-load.json'), {
    question: 'what does a gateway load when it starts as one of five, and when one of five has left',
    bar: { one_of_five_div_before: BAR },
    provenance: provenance(checkout),
    load: { keys, events: keys, rounds: rounds.length, gateways: GATEWAYS.length },
    ...figures,
  })
  const titles: Record<LoadName, string> = {
    before: 'everything, as before',
    alone: 'everything, as now',
    one_of_five: 'the share of one of five',
    after_departure: 'what falls to one of four',
  }
  const rows = LOADS.map((name) => {
    const { seconds, div_before: ratio, megabytes, keys_loaded: loaded, events_loaded: events } = figures[name]
    const bar = name === 'one_of_five' ? `<= ${BAR}` : ''
    const times = [seconds.min, seconds.median, seconds.max].map((value) => value.toFixed(2))
    return [titles[name], ...times, ratio.median.toFixed(3), bar, megabytes.toFixed(0), String(loaded + events)]
  })
  const head = ['', 's, min', 'median', 'max', '÷ before', 'bar', 'MB', 'held']
  process.stdout.write(`\n${table([head, ...rows])}`)
}
