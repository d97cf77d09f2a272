/**
 * `npm run bench -- <question> [options]`: measures one thing, prints it beside its bar, writes bench/results/.
 * The exit code says whether the measurement is valid, not whether a bar is met.
 */
import { fileURLToPath } from 'node:url'
import { Command, InvalidArgumentError, Option } from 'commander'
import { SORT_FIELDS } from '../internal/filters/filter-fields.js'
import { admissionIndex } from './admission-index/question.js'
import { attribution } from './attribution/question.js'
import { type BackupOptions, backupQuestion } from './backup/question.js'
import { client } from './client/question.js'
import { type ConsoleOptions, consoleQuestion } from './console/question.js'
import { evaluateChanges } from './eval/changes.js'
import { evaluateCompanies } from './eval/companies-question.js'
import { evaluate, TRIAL_NAMES } from './eval/question.js'
import { exportsQuestion } from './exports/question.js'
import { type HostileOptions, hostile } from './hostile/question.js'
import { type IngestOptions, ingest } from './ingest/question.js'
import { intake } from './intake/question.js'
import { keysLoad } from './keys-load/question.js'
import { type PeerOptions, peer } from './peer/question.js'
import { type PricesOptions, prices } from './prices/question.js'
import { type QueryOptions, query } from './query/question.js'
import { type ReportsOptions, reports } from './reports/question.js'
import { revocation } from './revocation/question.js'
import { soak } from './soak/question.js'
import { type TelemetryOptions, telemetry } from './telemetry/question.js'
import { trainingCost } from './training/question.js'
import { type TrickleOptions, trickle } from './trickle/question.js'
import { type WebhooksOptions, webhooks } from './webhooks/question.js'

/** From dist/bench to the checkout. */
const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url))

const stopping = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.on(name, () => stopping.abort(new Error('stopped; there is no result')))
}

function atLeast(least: number) {
  return (text: string): number => {
    const value = Number(text)
    if (!Number.isInteger(value) || value < least)
      throw new InvalidArgumentError(`It must be a whole number, ${least} or more.`)
    return value
  }
}

function natsServerBin(): string {
  const binary = process.env['ATTRIBUTION_NATS_SERVER_BIN'] ?? ''
  if (binary === '') throw new Error('ATTRIBUTION_NATS_SERVER_BIN names no nats-server; use npm run bench')
  return binary
}

const program = new Command('npm run bench --').description(
  'Each question is measured in one run, against something else.',
)
program
  .command('ingest')
  .description('single-event ingest ÷ bare uWebSockets.js, ÷ Fastify + zod + one JetStream publish a request')
  .option('--repeats <count>', 'loads on each server', atLeast(5), 5)
  .option('--seconds <count>', 'length of one load', atLeast(1), 3)
  .option('--connections <count>', 'keep-alive connections', atLeast(1), 256)
  .addOption(
    new Option('--generator <which>', 'wrk where it can be had, or our own').choices(['wrk', 'node']).default('wrk'),
  )
  .addOption(new Option('--credential <which>', 'API key or access token').choices(['key', 'jwt']).default('key'))
  .addOption(new Option('--durability <which>', 'what a 202 survives').choices(['power', 'process']).default('power'))
  .option('--profile', 'profile the gateway under this load instead', false)
  .option('--sweep', 'bulk, connections, bytes, processes and open loop instead: loads of 2 s, 3 repeats', false)
  .option('--gateways', '1, 2, 4 and 8 gateways instead: loads of 2 s, 3 repeats', false)
  .action(async (options: Omit<IngestOptions, 'checkout' | 'natsServerBin'>) => {
    await ingest({ ...options, checkout: CHECKOUT, natsServerBin: natsServerBin() }, stopping.signal)
  })

program
  .command('intake')
  .description('OTLP and LiteLLM ÷ native bulk: processor time of the gateway a call, with 4 KB of content each')
  .option('--repeats <count>', 'of each form', atLeast(3), 5)
  .action(async (options: { repeats: number }) => {
    await intake({ ...options, checkout: CHECKOUT, natsServerBin: natsServerBin() }, stopping.signal)
  })

program
  .command('telemetry')
  .description('a gateway and an attributor with metrics and spans ÷ ones without, at full load')
  .option('--pairs <count>', 'alternating loads on both', atLeast(5), 10)
  .option('--events <count>', 'of a backlog for the attributor', atLeast(10_000), 100_000)
  .option('--seconds <count>', 'length of one load', atLeast(1), 5)
  .option('--connections <count>', 'keep-alive connections', atLeast(1), 256)
  .action(async (options: Omit<TelemetryOptions, 'checkout' | 'natsServerBin'>) => {
    await telemetry({ ...options, checkout: CHECKOUT, natsServerBin: natsServerBin() }, stopping.signal)
  })

program
  .command('soak')
  .description('memory, open files, spool and log while events come at a constant rate')
  .option('--minutes <count>', 'length', atLeast(1), 10)
  .option('--rate <count>', 'events a second', atLeast(1), 1_000)
  .action(async (options: { minutes: number; rate: number }) => {
    await soak({ ...options, checkout: CHECKOUT, natsServerBin: natsServerBin() }, stopping.signal)
  })

program
  .command('attribution')
  .description('attribution pipeline ÷ insert of the same finished rows by one client; events/s and core of each stage')
  .option('--repeats <count>', 'of each', atLeast(5), 5)
  .option('--events <count>', 'events a repeat', atLeast(10_000), 100_000)
  .action(async (options: { repeats: number; events: number }) => {
    await attribution({ ...options, checkout: CHECKOUT, natsServerBin: natsServerBin() }, stopping.signal)
  })

program
  .command('exports')
  .description('a hand-written SELECT ... GROUP BY ... FORMAT CSV ÷ an export of the same rows; memory; kill -9')
  .option('--repeats <count>', 'of each', atLeast(3), 5)
  .option('--records <count>', 'in the read model', atLeast(100_000), 10_000_000)
  .action(async (options: { repeats: number; records: number }) => {
    await exportsQuestion({ ...options, checkout: CHECKOUT, natsServerBin: natsServerBin() }, stopping.signal)
  })

program
  .command('webhooks')
  .description(
    'webhook deliveries ÷ a bare undici loop to the same https receiver; what hanging receivers do to the others',
  )
  .option('--repeats <count>', 'of each', atLeast(5), 5)
  .option('--deliveries <count>', 'a repeat', atLeast(1_000), 12_000)
  .option('--connections <count>', 'in flight, to 8 an endpoint', atLeast(8), 32)
  .option('--rounds <count>', 'with and without endpoints that hang', atLeast(1), 3)
  .option('--endpoints <count>', 'in tenants of 100; one in ten hangs', atLeast(10), 1_000)
  .option('--seconds <count>', 'measured of a round', atLeast(5), 20)
  .action(async (options: Omit<WebhooksOptions, 'checkout' | 'natsServerBin'>) => {
    await webhooks({ ...options, checkout: CHECKOUT, natsServerBin: natsServerBin() }, stopping.signal)
  })

program
  .command('revocation')
  .description('how long a revoked credential is still taken by another gateway')
  .option('--repeats <count>', 'of each kind', atLeast(5), 50)
  .action(async ({ repeats }: { repeats: number }) => {
    await revocation({ repeats, checkout: CHECKOUT, natsServerBin: natsServerBin() }, stopping.signal)
  })

program
  .command('admission-index')
  .description('the admission index at 10 million keys and a 5 % duplicate mix: verdicts, bytes a key, time, pauses')
  .option('--keys <count>', 'a multiple of 2,000', atLeast(2_000), 10_000_000)
  .action(async ({ keys }: { keys: number }) => {
    await admissionIndex({ checkout: CHECKOUT, keys })
  })

program
  .command('keys-load')
  .description('a start of a gateway with generated keys in the stream KEYS: seconds until it is ready, and memory')
  .option('--keys <count>', 'a day of 1,000 single requests per second: 86000000', atLeast(1_000), 5_000_000)
  .option('--per-message <count>', 'keys that gateways group', atLeast(1), 10)
  .action(async (options: { keys: number; perMessage: number }) => {
    await keysLoad({ ...options, checkout: CHECKOUT, natsServerBin: natsServerBin() }, stopping.signal)
  })

interface EvalArguments {
  readonly seed: number
  readonly inProcess: number
  readonly only: string[]
  readonly companies: number
  readonly changes: number
}

program
  .command('eval')
  .description('compares attributions of events whose labels were withheld with the truth (npm run eval)')
  .option('--seed <number>', 'of the planting', atLeast(1), 1)
  .option('--in-process <count>', 'so many seeds from that one on, by the mathematics alone', atLeast(0), 0)
  .addOption(
    new Option('--only <names...>', 'run these trials; results of others stay in the file')
      .choices(TRIAL_NAMES)
      .default([]),
  )
  .option(
    '--companies <count>',
    'family (c): so many companies from that seed on, by the mathematics alone',
    atLeast(0),
    0,
  )
  .option('--changes <count>', 'family (d): so many companies that change half-way, likewise', atLeast(0), 0)
  .action(async (options: EvalArguments) => {
    if (options.changes > 0) {
      await evaluateChanges({ checkout: CHECKOUT, seed: options.seed, seeds: options.changes })
      return
    }
    if (options.companies > 0) {
      await evaluateCompanies({ checkout: CHECKOUT, seed: options.seed, seeds: options.companies })
      return
    }
    await evaluate({ ...options, checkout: CHECKOUT, natsServerBin: natsServerBin() }, stopping.signal)
  })

program
  .command('training')
  .description('processor time and memory of a training, and of a prediction of the version that it gives')
  .option('--examples <count>', 'records of one tenant', atLeast(10_000), 1_000_000)
  .option('--classes <count>', 'services', atLeast(2), 200)
  .action((options: { examples: number; classes: number }) => {
    trainingCost({ ...options, checkout: CHECKOUT })
  })

program
  .command('query')
  .description('pages of records: every filter by every sort, while records arrive, beside SQL by hand')
  .option('--rows <count>', 'records', atLeast(100_000), 10_000_000)
  .option('--repeats <count>', 'of each case', atLeast(1), 5)
  .option('--ingest <count>', 'rows a second that come in meanwhile', atLeast(0), 1_000)
  .option('--every <count>', 'one case in so many', atLeast(1), 1)
  .option('--minutes <count>', 'of asking', atLeast(1), 240)
  .option('--newer <count>', 'newest records that are not settled', atLeast(0), 60_000)
  .option('--copied <count>', 'newest records that the sorted copies hold', atLeast(1), Number.MAX_SAFE_INTEGER)
  .addOption(new Option('--sorts <fields...>', 'to ask by').choices(SORT_FIELDS).default(SORT_FIELDS))
  .action(async (options: Omit<QueryOptions, 'checkout'>) => {
    await query({ ...options, checkout: CHECKOUT }, stopping.signal)
  })

program
  .command('client')
  .description('what the JavaScript client library adds to a call, and its memory while the service cannot be reached')
  .option('--calls <count>', 'timed calls of each form', atLeast(1_000), 20_000)
  .option('--away-calls <count>', 'calls while the service cannot be reached', atLeast(1), 1_000_000)
  .action((options: { calls: number; awayCalls: number }) => client({ checkout: CHECKOUT, ...options }))
program
  .command('prices')
  .description('the price book beside genai-prices and LiteLLM: eleven calls of each model; writes the guide, too')
  .requiredOption('--against <file>', "genai-prices' data, prices/new_data/v2/data.json")
  .requiredOption('--and <file>', "LiteLLM's model_prices_and_context_window.json")
  .option('--list', 'print each vector that a book prices otherwise instead, as TSV', false)
  .action((options: Omit<PricesOptions, 'checkout'>) => {
    prices({ ...options, checkout: CHECKOUT })
  })

program
  .command('trickle')
  .description(
    'what the whole product costs at low rates, how soon a record is visible, and how fast a backlog is worked off',
  )
  .option('--seconds <count>', 'of each rate', atLeast(5), 60)
  .option('--rates <count...>', 'events per second', (text: string, so: number[] = []) => [...so, atLeast(1)(text)])
  .option('--sightings <count>', 'records of each rate whose visibility is sampled', atLeast(0), 60)
  .option('--backlog <count>', 'events in bulk at the end', atLeast(0), 300_000)
  .option('--rest', 'only what happens at rest: messages on the broker and wake-ups per second', false)
  .action(async (options: Omit<TrickleOptions, 'checkout' | 'natsServerBin'>) => {
    const rates = options.rates ?? [20, 1_000]
    await trickle({ ...options, rates, checkout: CHECKOUT, natsServerBin: natsServerBin() }, stopping.signal)
  })

program
  .command('hostile')
  .description('what two tenants notice of a third one that sends and asks the costliest that it may')
  .option('--seconds <count>', 'of each attack', atLeast(5), 60)
  .action(async (options: Omit<HostileOptions, 'checkout' | 'natsServerBin'>) => {
    await hostile({ ...options, checkout: CHECKOUT, natsServerBin: natsServerBin() }, stopping.signal)
  })

program
  .command('reports')
  .description('reports beside the GROUP BY by hand; a month by service while records arrive')
  .option('--rows <count>', 'records', atLeast(100_000), 10_000_000)
  .option('--repeats <count>', 'of each report', atLeast(5), 15)
  .option('--ingest <count>', 'rows a second that come in during the last question', atLeast(0), 1_000)
  .action(async (options: Omit<ReportsOptions, 'checkout'>) => {
    await reports({ ...options, checkout: CHECKOUT }, stopping.signal)
  })

program
  .command('peer')
  .description('the product beside a Postgres table with six indexes: the same calls, pages, reports and new calls')
  .option('--rows <count>', 'records of twelve months', atLeast(100_000), 2_000_000)
  .option('--repeats <count>', 'of each question, on both', atLeast(20), 200)
  .option('--rounds <count>', 'of new calls, on both', atLeast(3), 5)
  .action(async (options: Omit<PeerOptions, 'checkout' | 'natsServerBin'>) => {
    await peer({ ...options, checkout: CHECKOUT, natsServerBin: natsServerBin() }, stopping.signal)
  })

program
  .command('console')
  .description('the console at many records: first paint, interaction to next paint, a new call, bytes of JavaScript')
  .option('--rows <count>', 'records of twelve months', atLeast(10_000), 10_000_000)
  .option('--repeats <count>', 'first visits, and new calls', atLeast(3), 5)
  .action(async (options: Omit<ConsoleOptions, 'checkout' | 'natsServerBin'>) => {
    await consoleQuestion({ ...options, checkout: CHECKOUT, natsServerBin: natsServerBin() }, stopping.signal)
  })

program
  .command('backup')
  .description('backup and restore of many records: how long, how large, and for how long readers pause')
  .option('--rows <count>', 'records of twelve months', atLeast(10_000), 10_000_000)
  .action(async (options: Omit<BackupOptions, 'checkout' | 'natsServerBin'>) => {
    await backupQuestion({ ...options, checkout: CHECKOUT, natsServerBin: natsServerBin() }, stopping.signal)
  })

program.parseAsync().then(
  () => process.exit(0),
  (cause: Error) => {
    process.stderr.write(`bench: ${cause.message}\n`)
    process.exit(stopping.signal.aborted ? 130 : 1)
  },
)
