import { setTimeout as sleep } from 'node:timers/promises'
import { Command, InvalidArgumentError } from 'commander'
import { Tail, type TailedRecord } from '../../internal/local/tail.js'
import { type Loss, TailLosses } from '../../internal/local/tail-losses.js'
import { formatInstant, parseInstant } from '../../internal/units/instant.js'
import { connectApi, credentialsOption, type ServiceOptions, urlOption, writeOut } from './service.js'

interface TailOptions extends ServiceOptions {
  readonly service?: string
  readonly count?: number
  readonly since?: string
  readonly json?: true
}

const POLL_EVERY_MS = 500
/** Counts of what was lost cost the service a query each. */
const LOSSES_EVERY_MS = 10_000

export const tailCommand = (): Command =>
  new Command('tail')
    .description(
      'Shows calls as they are attributed, and why others became no record, from now on, until it is interrupted.',
    )
    .option('--service <name>', 'only calls of this service')
    .option('--since <time>', 'records attributed since then, RFC 3339 in UTC. Default: now', readTime)
    .option('--count <n>', 'end after so many', readCount)
    .addOption(urlOption())
    .addOption(credentialsOption())
    .option('--json', 'print each record, and each reason of others, as JSON, one per line')
    .action(run)

function readTime(text: string): string {
  const ms = parseInstant(text)
  if (ms === undefined) throw new InvalidArgumentError('It must be a time such as 2026-12-01T00:00:00Z.')
  return formatInstant(ms)
}

function readCount(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number above 0.')
  return Number(text)
}

async function run({ service, since, count: most = Number.POSITIVE_INFINITY, ...options }: TailOptions): Promise<void> {
  const client = connectApi(options)
  const filter = service === undefined ? '' : `&filter[service][eq]=${encodeURIComponent(service)}`
  const tail = new Tail(client, since ?? new Date().toISOString(), filter)
  const losses = new TailLosses(client, service)
  const write = (one: object, line: string): Promise<void> =>
    writeOut(options.json === true ? `${JSON.stringify(one)}\n` : line)
  try {
    let lookAtMs = 0
    for (let shown = 0; shown < most; ) {
      const records = (await tail.next()).slice(0, most - shown)
      for (const record of records) await write(record, lineOf(record))
      shown += records.length
      if (Date.now() >= lookAtMs) {
        for (const loss of await losses.next()) await write({ became: 'no_record', ...loss }, lossLine(loss))
        lookAtMs = Date.now() + LOSSES_EVERY_MS
      }
      if (records.length === 0) await sleep(POLL_EVERY_MS)
    }
  } finally {
    await client.close()
  }
}

const lineOf = (record: TailedRecord): string => {
  const { materialized_at, service, owner, provider, served_model, cost_usd, cost_basis, interpretation } = record
  const { confidence, evidence_basis, export_eligibility } = interpretation
  const cost = cost_basis === 'unpriced' ? 'unpriced' : `${cost_usd} USD`
  const call = `${materialized_at} ${service} (${owner}) ${provider}/${served_model} ${cost}`
  return `${call} ${confidence} ${evidence_basis} ${export_eligibility}\n`
}

const lossLine = ({ what, reason, count, last_at, intake, sender, service }: Loss): string => {
  const from = [sender, service === null ? undefined : `of ${service}`].filter(Boolean).join(' ')
  return `${last_at} ${what.replace('_', ' ')}: ${reason} (${count}) ${intake} ${from}`.trimEnd().concat('\n')
}
