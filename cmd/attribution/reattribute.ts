import { setTimeout as sleep } from 'node:timers/promises'
import { SingleBar } from 'cli-progress'
import { Command, InvalidArgumentError } from 'commander'
import type { Move } from '../../internal/attribution/changes/moves.js'
import { slicePublisher } from '../../internal/attribution/changes/publish-changes.js'
import { newJob, type ReattributionJob } from '../../internal/attribution/changes/reattribution-job.js'
import type { Tally, Valued } from '../../internal/attribution/changes/revalue.js'
import { settingsOf, type Tenant } from '../../internal/auth/tenant.js'
import type { Broker } from '../../internal/broker/connect.js'
import { createPublisher } from '../../internal/broker/publisher.js'
import { bucketRecords, type Records } from '../../internal/broker/records.js'
import { ConfigError } from '../../internal/config/settings.js'
import { deriveTenantIds, randomId } from '../../internal/ids/ids.js'
import type { StoredModel } from '../../internal/inference/models/model-version.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { signingKey } from '../../internal/secrets/signing-keys.js'
import { countRecords } from '../../internal/store/queries/records/slices.js'
import { parseInstant } from '../../internal/units/instant.js'
import { importedBooks } from '../../internal/valuation/books/book-version.js'
import { MODELS, PRICE_BOOKS, REATTRIBUTIONS, SIGNING_KEYS, TENANTS } from '../../streams/buckets.js'
import { recordByCli } from './audited.js'
import {
  connectInstanceBroker,
  connectInstanceStore,
  dataDirOption,
  type InstanceOption,
  readInstanceConfig,
} from './connect.js'

interface ReattributeOptions extends InstanceOption {
  readonly tenant?: string
  readonly from?: number
  readonly to?: number
  readonly stageB?: string
  readonly fillUnpriced?: true
  readonly repriceBook?: string
  readonly dryRun?: true
  readonly job?: string
  readonly cancel?: true
  readonly json?: true
}

const POLL_EVERY_MS = 200
/**
 * After this time without progress the job's next message may have been lost with the process that was to publish it.
 */
const STALLED_MS = 10_000

export const reattributeCommand = (): Command =>
  new Command('reattribute')
    .description(
      'Re-attributes the records of a time window with the current directory, pools and models. A record with ' +
        'another result gets a new version. Cost, energy and carbon are unchanged; with --fill-unpriced or ' +
        '--reprice-book only they change. Overridden and disputed records are unchanged. The job runs in the ' +
        'service: it continues when this command ends, and after a restart of the service.',
    )
    .option('--tenant <id>', 'tenant of the records')
    .option('--from <time>', 'start of the window, inclusive: a date, or RFC 3339 in UTC', readTime)
    .option('--to <time>', 'end of the window, exclusive', readTime)
    .option('--stage-b <model>', 'model version for stage B, instead of the serving one')
    .option(
      '--fill-unpriced',
      'adds missing cost, energy and carbon from the current price books and tables, and replaces costs that ' +
        'are upper bounds; other values are unchanged',
    )
    .option('--reprice-book <id>', 're-prices records whose cost comes from this version of the price book')
    .option('--dry-run', 'counts the changes, by owner or by what is valued again, without making them')
    .option('--job <id>', 'follows an existing job, and resumes it if it has stalled, instead of starting one')
    .option('--cancel', 'cancels the job; versions that it has created stay')
    .addOption(dataDirOption())
    .option('--json', 'print the result as JSON')
    .action(run)

function readTime(text: string): number {
  const ms = parseInstant(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text)
  if (ms === undefined) throw new InvalidArgumentError('It must be a date, or an RFC 3339 time in UTC.')
  return ms
}

async function run(options: ReattributeOptions): Promise<void> {
  const config = readInstanceConfig(options)
  const broker = await connectInstanceBroker(config)
  const store = connectInstanceStore(config)
  try {
    const jobs = bucketRecords<ReattributionJob>(await broker.bucket(REATTRIBUTIONS), async () => undefined)
    const job =
      options.job === undefined
        ? await begin(
            options,
            broker,
            jobs,
            await signingKey(await broker.bucket(SIGNING_KEYS), readMasterKeys(config), 'ids'),
          )
        : await jobs.read(options.job)
    if (job === undefined) throw new ConfigError(`job ${options.job} does not exist`)
    if (options.cancel === true) {
      await jobs.change(job.id, (now) => (now.status === 'running' ? { ...now, status: 'cancelled' } : undefined))
    }
    const total = await countRecords(store, job.tenant_id, job.from_ms, job.to_ms)
    const ended = await follow(job, total, broker, jobs)
    process.stdout.write(options.json === true ? `${JSON.stringify(shown(ended))}\n` : asText(ended))
  } finally {
    await store.close()
    await broker.close()
  }
}

async function begin(
  options: ReattributeOptions,
  broker: Broker,
  jobs: Records<ReattributionJob>,
  idsKey: Uint8Array,
): Promise<ReattributionJob> {
  const { tenant, from, to, stageB, dryRun } = options
  if (tenant === undefined || from === undefined || to === undefined || from >= to) {
    throw new ConfigError('--tenant, --from and --to are required, or --job; --from must be before --to')
  }
  const valued = valuedBy(options)
  if (valued !== undefined && valued !== 'unpriced') await checkBook(valued.book, broker)
  const known = await (await broker.bucket(TENANTS)).get(tenant)
  if (known?.operation !== 'PUT') throw new ConfigError(`tenant ${tenant} does not exist`)
  if (stageB !== undefined) {
    if (!settingsOf(known.json<Tenant>()).stage_b_enabled) {
      throw new ConfigError('inference (stage B) is disabled for the tenant')
    }
    const entry = await (await broker.bucket(MODELS)).get(stageB)
    const model = entry?.operation === 'PUT' ? entry.json<StoredModel>() : undefined
    // A model never serves another tenant than the one it was trained for.
    if (model?.tenant_id !== tenant) throw new ConfigError(`the tenant has no model ${stageB}`)
    if (model.recalled_at !== null) throw new ConfigError(`the model ${stageB} was recalled`)
  }
  const id = randomId('rea', deriveTenantIds(idsKey, tenant))
  const request = {
    id,
    tenant_id: tenant,
    from_ms: from,
    to_ms: to,
    model: stageB ?? null,
    ...(valued && { valued }),
    ...(dryRun && { dry_run: dryRun }),
    actor: 'cli',
  }
  const job = await jobs.createOnce(id, newJob(request, Date.now()))
  await recordByCli(broker, 'attribution.reattribute', id, { after: shown(job) }, tenant)
  await slicePublisher(createPublisher(broker.connection).publish)(tenant, { jobId: id, slice: 0 })
  return job
}

function valuedBy({ fillUnpriced, repriceBook, stageB }: ReattributeOptions): Exclude<Valued, 'usage'> | undefined {
  if ([fillUnpriced, repriceBook, stageB].filter((option) => option !== undefined).length > 1) {
    throw new ConfigError('--stage-b, --fill-unpriced and --reprice-book exclude each other')
  }
  if (fillUnpriced === true) return 'unpriced'
  return repriceBook === undefined ? undefined : { book: repriceBook }
}

/** A built-in price book has its date as its id. */
async function checkBook(id: string, broker: Broker): Promise<void> {
  if (/^\d{4}-\d\d-\d\d$/.test(id)) return
  const books = await importedBooks(await broker.bucket(PRICE_BOOKS))
  if (!books.some((book) => book.id === id)) throw new ConfigError(`price book ${id} does not exist`)
}

async function follow(
  job: ReattributionJob,
  total: number,
  broker: Broker,
  jobs: Records<ReattributionJob>,
): Promise<ReattributionJob> {
  const publishSlice = slicePublisher(createPublisher(broker.connection).publish)
  const bar = new SingleBar({
    format: `  ${job.id} [{bar}] {value}/{total} records`,
    stream: process.stderr,
    noTTYOutput: true,
    notTTYSchedule: 5_000,
    hideCursor: true,
  })
  bar.start(total, job.seen)
  try {
    let last = job
    for (let movedAt = performance.now(); ; ) {
      const now = (await jobs.read(job.id)) ?? last
      bar.update(now.seen)
      if (now.status !== 'running') return now
      if (now.next !== last.next) movedAt = performance.now()
      else if (performance.now() - movedAt > STALLED_MS) {
        await publishSlice(now.tenant_id, { jobId: now.id, slice: now.next })
        movedAt = performance.now()
      }
      last = now
      await sleep(POLL_EVERY_MS)
    }
  } finally {
    bar.stop()
  }
}

const shown = (job: ReattributionJob) => {
  const { valued, dry_run, tally, moves } = job
  return {
    ...shownOfAll(job),
    ...(valued === undefined && dry_run && { dry_run, moves: mostFirst(moves ?? []) }),
    ...(valued && { valued, dry_run: dry_run ?? false, ...tally }),
  }
}

const shownOfAll = ({ id, tenant_id, from_ms, to_ms, model, status, seen, changed, unnamed }: ReattributionJob) => ({
  job: id,
  tenant_id,
  from: new Date(from_ms).toISOString(),
  to: new Date(to_ms).toISOString(),
  model,
  status,
  seen,
  changed,
  unnamed,
})

const asText = (job: ReattributionJob): string =>
  job.tally === undefined ? attributedText(job) : valuedText(job, job.tally)

const attributedText = ({ id, status, seen, changed, unnamed, dry_run, moves = [] }: ReattributionJob): string =>
  `  ${id} ${status}: ${seen} records, ${changed} ${dry_run === true ? 'would be ' : ''}re-attributed` +
  `${unnamed === 0 ? '' : `, ${unnamed} unchanged, because the name of their identity is not stored`}\n` +
  mostFirst(moves)
    .map(({ from_owner, to_owner, records, cost_usd }) =>
      from_owner === to_owner
        ? `    ${from_owner} keeps ${records} records, ${cost_usd} USD\n`
        : `    ${from_owner} -> ${to_owner}: ${records} records, ${cost_usd} USD\n`,
    )
    .join('')

/** By the number of records. */
const mostFirst = (moves: readonly Move[]): readonly Move[] =>
  [...moves].sort((one, other) => other.records - one.records)

const valuedText = ({ id, status, seen, changed, dry_run }: ReattributionJob, tally: Tally): string =>
  `  ${id} ${status}: ${seen} records, ${changed} ${dry_run === true ? 'would be ' : ''}re-valued\n` +
  `    cost of ${tally.cost_records} records, total change: ${tally.cost_usd} USD\n` +
  `    energy of ${tally.energy_records} records, total change: ${tally.energy_wh} Wh\n` +
  `    carbon of ${tally.carbon_records} records, total change: ${tally.carbon_gco2e} gCO2e\n` +
  `    ${tally.left} records unchanged, at least in part: there is no new value for them\n`
