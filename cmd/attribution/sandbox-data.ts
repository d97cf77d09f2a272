import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SingleBar } from 'cli-progress'
import { Command, InvalidArgumentError } from 'commander'
import { ConfigError } from '../../internal/config/settings.js'
import { connectService } from '../../internal/local/replay/client.js'
import { sandboxCompany } from '../../internal/local/sandbox/company.js'
import { type LoadedSandbox, loadSandbox } from '../../internal/local/sandbox/load-sandbox.js'
import { sandboxEvents } from '../../internal/local/sandbox/traffic.js'
import type { Credentials } from '../../internal/local/supervisor/bootstrap.js'
import { environmentIn } from '../../internal/local/supervisor/supervised-instance.js'

interface SandboxDataOptions {
  readonly dataDir: string
  readonly seed: number
  readonly days: number
  readonly json?: true
}

const DAYS_MAX = 90

export const sandboxDataCommand = (): Command =>
  new Command('sandbox-data')
    .description(
      'Fills a running sandbox with synthetic data: a fictional company, its services and people, and their ' +
        'calls of the last days. The same seed gives the same data; a second run adds only the days since the ' +
        'first.',
    )
    .option('--data-dir <folder>', 'data folder of the sandbox', '.data')
    .option('--seed <number>', 'seed of the company', wholeNumber(0, 2 ** 31 - 1), 1)
    .option('--days <count>', 'number of days, including today', wholeNumber(1, DAYS_MAX), 7)
    .option('--json', 'print the summary as JSON')
    .action(run)

function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
    }
    return value
  }
}

async function run({ dataDir, seed, days, json }: SandboxDataOptions): Promise<void> {
  const { base_url: baseUrl, api_key: apiKey } = readCredentials(join(dataDir, 'credentials.json'))
  if (!apiKey.startsWith('ak_test_')) {
    throw new ConfigError(`${dataDir} is not a sandbox: synthetic data cannot be added to real records`)
  }
  const nowMs = Date.now()
  const expected = [...sandboxEvents(sandboxCompany(seed), seed, days, nowMs)].length
  const bar = new SingleBar({
    format: '  filling the sandbox [{bar}] {value}/{total} events',
    stream: process.stderr,
    noTTYOutput: true,
    notTTYSchedule: 5_000,
    hideCursor: true,
  })
  const service = connectService(baseUrl, apiKey, 1, environmentIn(dataDir)['ATTRIBUTION_TLS_CERT_FILE'])
  bar.start(expected, 0)
  const loaded = await loadSandbox(service, { seed, days, nowMs, onProgress: (taken) => bar.update(taken) }).finally(
    () => bar.stop(),
  )
  await service.close()
  process.stdout.write(json === true ? `${JSON.stringify(loaded)}\n` : asText(loaded, seed))
}

function readCredentials(file: string): Pick<Credentials, 'base_url' | 'api_key'> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Credentials
  } catch (cause) {
    throw new ConfigError(`${file} cannot be read: name the sandbox's data folder with --data-dir`, { cause })
  }
}

const asText = ({ services, identities, events, duplicates }: LoadedSandbox, seed: number): string =>
  `  sandbox data of seed ${seed}: ${services} services, ${identities} identities, ${events} calls` +
  `${duplicates === 0 ? '' : ` (${duplicates} already existed)`}\n`
