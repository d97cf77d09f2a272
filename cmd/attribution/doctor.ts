import { join } from 'node:path'
import { Command, Option } from 'commander'
import {
  BROKER_SETTINGS,
  ConfigError,
  MASTER_KEY_SETTINGS,
  readConfig,
  STORE_SETTINGS,
} from '../../internal/config/settings.js'
import { checkInstance } from '../../internal/local/doctor/check-instance.js'
import { checkIntake } from '../../internal/local/doctor/check-intake.js'
import { exitCodeOf, type Finding, type FindingStatus } from '../../internal/local/doctor/finding.js'
import { connectService } from '../../internal/local/replay/client.js'
import { environmentIn } from '../../internal/local/supervisor/supervised-instance.js'
import { connectInstanceBroker, connectInstanceStore, dataDirOption, type InstanceOption } from './connect.js'
import { connectApi, credentialsOption, type ServiceOptions, urlOption } from './service.js'

interface DoctorOptions extends ServiceOptions, InstanceOption {
  readonly part: 'instance' | 'intake'
  readonly intakeUrl: string
  readonly json?: true
}

/** A person waits. */
const LIMITS = { answerMsMax: 5_000, giveUpMs: 3_000 }

export const doctorCommand = (): Command =>
  new Command('doctor')
    .description(
      'Checks whether a part works, and says what to do. instance: broker, roles, read model, clocks, keys, disk ' +
        'and limits of an instance. intake: sends a probe to the intake port and follows it to its record, which ' +
        'costs nothing and has the service attribution-doctor. Exits with 0 when all is well, 1 with a warning, 2 ' +
        'with a failure.',
    )
    .addOption(new Option('--part <part>', 'what to check').choices(['instance', 'intake']).default('instance'))
    .option('--intake-url <url>', 'address of the intake port', 'http://127.0.0.1:4318')
    .addOption(urlOption())
    .addOption(credentialsOption())
    .addOption(dataDirOption())
    .option('--json', 'print each check as JSON, one per line')
    .action((options: DoctorOptions, command: Command) => {
      const isGiven = (name: keyof DoctorOptions): boolean => command.getOptionValueSource(name) !== 'default'
      return report(
        options.part === 'intake' ? checkedIntake(options, isGiven) : checkedInstance(options, isGiven('url')),
        options,
      )
    })

async function report(findings: AsyncIterable<Finding>, { json }: DoctorOptions): Promise<void> {
  const found: Finding[] = []
  for await (const finding of findings) {
    process.stdout.write(json === true ? `${JSON.stringify(finding)}\n` : lineOf(finding))
    found.push(finding)
  }
  process.exitCode = exitCodeOf(found)
}

const WORDS: Readonly<Record<FindingStatus, string>> = { ok: 'ok  ', warning: 'WARN', failure: 'FAIL' }
const lineOf = ({ check, status, detail }: Finding): string => `${WORDS[status]} ${check.padEnd(21)} ${detail}\n`

/** @param isGiven whether an option was stated; the others are those of the instance, if its data folder is */
async function* checkedIntake(
  { dataDir, ...options }: DoctorOptions,
  isGiven: (name: keyof DoctorOptions) => boolean,
): AsyncGenerator<Finding> {
  const environment = dataDir === undefined ? {} : environmentIn(dataDir)
  const { baseUrl } = readConfig(['mode', 'baseUrl'], [], environment)
  const url = isGiven('url') || baseUrl === '' ? options.url : baseUrl
  const intakePort = environment['ATTRIBUTION_INTAKE_PORT']
  const intakeUrl = isGiven('intakeUrl') || intakePort === undefined ? options.intakeUrl : withPort(url, intakePort)
  const credentials =
    isGiven('credentials') || dataDir === undefined ? options.credentials : join(dataDir, 'credentials.json')
  const api = connectApi({ url, credentials }, LIMITS)
  const intake = connectApi({ url: intakeUrl, credentials }, LIMITS)
  try {
    yield* checkIntake(api, intake)
  } finally {
    await Promise.all([api.close(), intake.close()])
  }
}

function withPort(address: string, port: string): string {
  const url = new URL(address)
  url.port = port
  return url.origin
}

async function* checkedInstance({ dataDir, url }: DoctorOptions, isUrlGiven: boolean): AsyncGenerator<Finding> {
  const config = readConfig(
    [...BROKER_SETTINGS, ...STORE_SETTINGS, ...MASTER_KEY_SETTINGS, 'mode', 'tlsCertFile', 'baseUrl'],
    [],
    dataDir === undefined ? process.env : { ...process.env, ...environmentIn(dataDir) },
  )
  if (config.natsUrl === '' || config.storeUrl === '') {
    throw new ConfigError('name an instance: --data-dir <folder>, or ATTRIBUTION_NATS_URL and ATTRIBUTION_STORE_URL')
  }
  const address = isUrlGiven || config.baseUrl === '' ? url : config.baseUrl
  const api = connectService(address, '', 1, config.tlsCertFile, LIMITS)
  const store = connectInstanceStore(config, { silenceMsMax: LIMITS.answerMsMax })
  try {
    yield* checkInstance({
      dataDir,
      keys: config,
      connectBroker: () => connectInstanceBroker(config),
      store,
      ask: (path) => api.get(path),
    })
  } finally {
    await Promise.all([api.close(), store.close()])
  }
}
