import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { Command } from 'commander'
import { isUuid } from '../../internal/ids/ids.js'
import { payloadOfSpendLog } from '../../internal/ingest/adapters/litellm-spend-logs.js'
import { csvRows, jsonRows, type Row } from '../../internal/local/import/import-rows.js'
import { type ImportSummary, sendPayloads } from '../../internal/local/import/send-rows.js'
import { connectApi, credentialsOption } from './service.js'

interface ImportOptions {
  readonly intakeUrl: string
  readonly credentials: string
  readonly json?: true
}

export const importCommand = (): Command =>
  new Command('import').description('Imports calls from what other systems have kept.').addCommand(
    new Command('litellm-spend-logs')
      .description(
        'Imports rows of the table LiteLLM_SpendLogs. They have the ids of the callback: what came already is a ' +
          'duplicate, so that an import closes the gaps that lost batches left. Who called is believed if the key ' +
          'has is_gateway.',
      )
      .argument('<file>', 'CSV with a header, or one JSON object per line (.jsonl)')
      .option('--intake-url <url>', 'address of the intake port', 'http://127.0.0.1:4318')
      .addOption(credentialsOption())
      .option('--json', 'print the summary as JSON')
      .action(runImport),
  )

async function runImport(file: string, options: ImportOptions): Promise<void> {
  const service = connectApi({ url: options.intakeUrl, credentials: options.credentials })
  const onProgress = (rows: number): void => {
    if (process.stderr.isTTY && options.json !== true) process.stderr.write(`\r${rows} rows`)
  }
  try {
    const seen = { responseIds: 0 }
    print(await sendPayloads(payloadsOf(file, seen), '/intake/litellm', service, onProgress), options)
    if (seen.responseIds > 0) process.stderr.write(`${seen.responseIds} ${RESPONSE_IDS}\n`)
  } finally {
    await service.close()
  }
}

/** Which of them came with the callback cannot be told from the table. */
const RESPONSE_IDS =
  'rows have the id of a response, not of a call: if your callback sends litellm_call_id, calls that came ' +
  'with it are now there twice. For such versions import only the time that the callback missed.'

async function* payloadsOf(file: string, seen: { responseIds: number }): AsyncGenerator<unknown> {
  for await (const row of rowsOf(file)) {
    const payload = payloadOfSpendLog(row)
    if (payload['litellm_call_id'] === undefined && !isUuid(String(row['request_id']))) seen.responseIds++
    yield payload
  }
}

function rowsOf(file: string): AsyncIterable<Row> {
  if (/\.(jsonl|ndjson|json)$/i.test(file)) return jsonRows(createInterface({ input: createReadStream(file, 'utf8') }))
  return csvRows(createReadStream(file, 'utf8'))
}

function print(summary: ImportSummary, { json }: ImportOptions): void {
  const write = (line: string): void => void process.stdout.write(`${line}\n`)
  if (json === true) return write(JSON.stringify(summary))
  const { received, accepted, duplicates, skipped, rejected, rejections } = summary
  write(`${received} rows: ${accepted} accepted, ${duplicates} were there already, ${rejected} rejected`)
  for (const [reason, count] of Object.entries(skipped)) write(`  skipped, ${reason}: ${count}`)
  for (const { row, errors } of rejections) {
    write(`  row ${row}: ${errors.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; ')}`)
  }
}
