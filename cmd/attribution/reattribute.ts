import { setTimeout as sleep } from 'node:timers/promises'
import { SingleBar } from 'cli-progress'
import { Command, InvalidArgumentError } from 'commander'
import type { ReattributionJob } from '../../internal/attribution/changes/job.js'
import { slicePublisher } from '../../internal/attribution/changes/publish.js'
import { newJob } from '../../internal/attribution/changes/slice.js'
import type { Tally, Valued } from '../../internal/attribution/changes/value-again.js'
import type { StoredModel } from '../../internal/attribution/inference/models/version.js'
import { importedBooks } from '../../internal/attribution/valuation/books/import-book.js'
import { settingsOf, type Tenant } from '../../internal/auth/tenant.js'
import type { Broker } from '../../internal/broker/connect.js'
import { createPublisher } from '../../internal/broker/publisher.js'
import { bucketRecords, type Records } from '../../internal/broker/records.js'
import { ConfigError } from '../../internal/config/settings.js'
import { deriveTenantIds, randomId } from '../../internal/ids/ids.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { signingKey } from '../../internal/secrets/signing-keys.js'
import { countRecords } from '../../internal/store/queries/records/slices.js'
import { parseInstant } from '../../internal/units/instant.js'
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

const LOOK_EVERY_MS = 200
/** A job that has not moved for so long may have lost its next message with the process that was to send it. */
const STALLED_MS = 10_000

export const reattributeCommand = (): Command =>
  new Command('reattribute')
    .description(
      'Attributes records of a window again, by the directory, the pools and the models of now: where somebody else is ' +
        'found, the record gets a new version. Prices, energy and carbon stay, unless --fill-unpriced or --reprice-book ' +
        'asks for them and nothing else; what people have overridden or disputed stays. The job goes on in the service when this command ends, and behind where it was when the service does.',
    )
    .option('--tenant <id>', 'whose records')
    .option('--from <time>', 'of the first events: a date, or RFC 3339 in UTC', readTime)
    .option('--to <time>', 'before this time', readTime)
    .option('--stage-b <model>', 'id of the model that answers in stage B, whichever serves now')
    .option(
      '--fill-unpriced',
      'values records without a cost, energy or carbon, by the books, prices and tables of now; what has a value keeps it',
    )
    .option('--reprice-book <id>', 'prices records anew whose cost is by this version of the price book')
    .option('--dry-run', 'counts what either of the two would change, and changes nothing')
    .option('--job <id>', 'follows a job that is under way, or has stalled, in place of beginning one')
    .option('--cancel', 'ends the job: versions that it has made stay')
    .addOption(dataDirOption())
    .option('--json', 'print what came of it as JSON')
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
    if (job === undefined) throw new ConfigError(`there is no job ${options.job}`)
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
    throw new ConfigError('say --tenant, --from and --to, or --job; from must be before to')
  }
  const valued = valuedBy(options)
  if (dryRun === true && valued === undefined) {
    throw new ConfigError('--dry-run goes with --fill-unpriced or --reprice-book')
  }
  if (valued !== undefined && valued !== 'unpriced') await checkBook(valued.book, broker)
  const known = await (await broker.bucket(TENANTS)).get(tenant)
  if (known?.operation !== 'PUT') throw new ConfigError(`there is no tenant ${tenant}`)
  if (stageB !== undefined) {
    if (!settingsOf(known.json<Tenant>()).stage_b_enabled) {
      throw new ConfigError('the tenant has switched inference off')
    }
    const entry = await (await broker.bucket(MODELS)).get(stageB)
    const model = entry?.operation === 'PUT' ? entry.json<StoredModel>() : undefined
    // A model never answers for another tenant than the one it has learned from.
    if (model?.tenant_id !== tenant) throw new ConfigError(`the tenant has no model ${stageB}`)
    if (model.recalled_at !== null) throw new ConfigError(`the model ${stageB} was recalled`)
  }
  const id = randomId('rea', deriveTenantIds(idsKey, tenant))
  const asked = {
    id,
    tenant_id: tenant,
    from_ms: from,
    to_ms: to,
    model: stageB ?? null,
    ...(valued && { valued }),
    ...(dryRun && { dry_run: dryRun }),
    actor: 'cli',
  }
  const job = await jobs.createOnce(id, newJob(asked, Date.now()))
  await recordByCli(broker, 'attribution.reattribute', id, { after: shown(job) }, tenant)
  await slicePublisher(createPublisher(broker.connection).publish)(tenant, { jobId: id, slice: 0 })
  return job
}

function valuedBy({ fillUnpriced, repriceBook, stageB }: ReattributeOptions): Valued | undefined {
  if ([fillUnpriced, repriceBook, stageB].filter((option) => option !== undefined).length > 1) {
    throw new ConfigError('say one of --stage-b, --fill-unpriced and --reprice-book')
  }
  if (fillUnpriced === true) return 'unpriced'
  return repriceBook === undefined ? undefined : { book: repriceBook }
}

/** One that the product comes or came with is named by the day that it describes. */
async function checkBook(id: string, broker: Broker): Promise<void> {
  if (/^\d{4}-\d\d-\d\d$/.test(id)) return
  const books = await importedBooks(await broker.bucket(PRICE_BOOKS))
  if (!books.some((book) => book.id === id)) throw new ConfigError(`there is no price book ${id}`)
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
      await sleep(LOOK_EVERY_MS)
    }
  } finally {
    bar.stop()
  }
}

const shown = (job: ReattributionJob) => {
  const { valued, dry_run, tally } = job
  return {
    ...shownOfAll(job),
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

const attributedText = ({ id, status, seen, changed, unnamed }: ReattributionJob): string =>
  `  ${id} ${status}: ${seen} records, ${changed} attributed anew` +
  `${unnamed === 0 ? '' : `, ${unnamed} left as they are, since the name of their identity is not kept`}\n`

const valuedText = ({ id, status, seen, changed, dry_run }: ReattributionJob, tally: Tally): string =>
  `  ${id} ${status}: ${seen} records, ${changed} ${dry_run === true ? 'would be ' : ''}valued anew\n` +
  `    cost of ${tally.cost_records}, by ${tally.cost_usd} USD in all\n` +
  `    energy of ${tally.energy_records}, by ${tally.energy_wh} Wh\n` +
  `    carbon of ${tally.carbon_records}, by ${tally.carbon_gco2e} gCO2e\n` +
  `    ${tally.left} left as they are, in part or whole: what is known now has no other value for them\n`
