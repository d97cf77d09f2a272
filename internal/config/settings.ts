import { PARTITIONS_MAX } from '../../streams/invocations.js'
import { REGION_PATTERN } from '../residency/residency.js'
import { nearestOf } from './nearest.js'
import { parseNetworks, parseResolvers } from './networks.js'
import { serviceVersion } from './version.js'
import { RETRY_MAXIMA_MS, RETRY_STOP_MS } from './webhook-retries.js'

/**
 * Every setting of every role, one per line: flag, environment variable, default, unit in the name, bounds. Flags
 * override the environment, which overrides the default. Mains call `readConfig` with the settings they use. Invalid
 * values are one `ConfigError`, of one line, that says how to correct each.
 */

interface Setting<T> {
  readonly flag: string
  readonly variable: string
  /**
   * A variable that other software defines for the same, read where neither flag nor `variable` is given; empty is
   * unset.
   */
  readonly standardVariable?: string
  /** Undefined: a setting that may stay unset. */
  readonly fallback: T | undefined
  /** What `--help` shows as the default, when that is not the fallback. */
  readonly shownDefault?: string
  /** A switch is a flag without a value; every other flag takes one. */
  readonly isSwitch: boolean
  /** Given as `--tuning <name>=<value>` (`tuning`). */
  readonly isTuning?: boolean
  /** Returns the value, or throws an `Error` whose message describes the allowed values. */
  readonly parse: (text: string) => T
}

export class ConfigError extends Error {}

/** Thrown for `--help` and `--version`; the message is the answer. */
export class HelpAsked extends Error {}

const names = (name: string) => ({
  flag: `--${name}`,
  variable: `ATTRIBUTION_${name.toUpperCase().replaceAll('-', '_')}`,
})

function integer(name: string, fallback: number | undefined, min: number, max: number): Setting<number> {
  const parse = (text: string): number => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < min || value > max) throw new Error(`a whole number from ${min} to ${max}`)
    return value
  }
  return { ...names(name), fallback, parse, isSwitch: false }
}

/** A number that belongs to the layout of the broker (`internal/broker/layout.ts`): unset, it is the layout's. */
function ofLayout(name: string, initial: number, min: number, max: number) {
  const { parse, ...others } = integer(name, initial, min, max)
  const unset: Setting<number | undefined> = {
    ...others,
    parse,
    fallback: undefined,
    shownDefault: `that of the broker's layout; ${initial} for a new broker`,
  }
  return { ...unset, initial }
}

function decimal(name: string, fallback: number, min: number, max: number): Setting<number> {
  const parse = (text: string): number => {
    const value = Number(text)
    if (!/^\d+(\.\d+)?$/.test(text) || value < min || value > max) throw new Error(`a number from ${min} to ${max}`)
    return value
  }
  return { ...names(name), fallback, parse, isSwitch: false }
}

function text(name: string, fallback?: string): Setting<string> {
  const parse = (value: string): string => {
    if (value === '') throw new Error('a non-empty text')
    return value
  }
  return { ...names(name), fallback, parse, isSwitch: false }
}

/** @param fallback may be empty: not set */
function matching(name: string, fallback: string, pattern: RegExp, what: string): Setting<string> {
  const parse = (value: string): string => {
    if (!pattern.test(value)) throw new Error(what)
    return value
  }
  return { ...names(name), fallback, parse, isSwitch: false }
}

function choice<const T extends string>(name: string, fallback: T, allowed: readonly T[]): Setting<T> {
  const parse = (value: string): T => {
    const found = allowed.find((candidate) => candidate === value)
    if (found === undefined) throw new Error(`one of ${allowed.join(', ')}`)
    return found
  }
  return { ...names(name), fallback, parse, isSwitch: false }
}

function toggle(name: string): Setting<boolean> {
  const parse = (value: string): boolean => {
    if (value !== 'true' && value !== 'false') throw new Error('true or false')
    return value === 'true'
  }
  return { ...names(name), fallback: false, parse, isSwitch: true }
}

/** A comma-separated list of whole numbers. */
function numbers(name: string, fallback: readonly number[], min: number, max: number): Setting<readonly number[]> {
  const parse = (text: string): readonly number[] => {
    const values = text.split(',').map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : Number.NaN))
    if (!values.every((value) => value >= min && value <= max)) {
      throw new Error(`a comma-separated list of whole numbers from ${min} to ${max}`)
    }
    return values
  }
  return { ...names(name), fallback, parse, isSwitch: false }
}

/** A comma-separated list; empty by default. */
function list(name: string, parse: (text: string) => readonly string[]): Setting<readonly string[]> {
  return { ...names(name), fallback: [], parse, isSwitch: false }
}

function url(name: string, fallback: string, protocols: readonly string[]): Setting<string> {
  const parse = (value: string): string => {
    if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol)) {
      throw new Error(`a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`)
    }
    return value
  }
  return { ...names(name), fallback, parse, isSwitch: false }
}

/** Addresses of the servers of one cluster, comma-separated; any of them leads to the others. */
function urls(name: string, fallback: string, protocols: readonly string[]): Setting<string> {
  const one = url(name, fallback, protocols)
  const parse = (value: string): string => {
    try {
      return value
        .split(',')
        .map((part) => one.parse(part.trim()))
        .join()
    } catch (cause) {
      throw new Error(`${(cause as Error).message}, or several such URLs, comma-separated`, { cause })
    }
  }
  return { ...one, parse }
}

/** A setting that is also known by a variable of a standard. */
const alsoKnownAs = <T>(setting: Setting<T>, standardVariable: string): Setting<T> => ({
  ...setting,
  standardVariable,
  shownDefault: `that of ${standardVariable}; ${String(setting.fallback) || 'none'}`,
})

/**
 * A setting that only somebody who has measured turns. It has no option of its own: `--tuning name=value`, as often as
 * needed, or `ATTRIBUTION_TUNING`, several of them separated by spaces.
 */
const tuning = <S extends Setting<unknown>>(setting: S): S => ({ ...setting, isTuning: true })
const TUNING_FLAG = '--tuning'
export const TUNING_VARIABLE = 'ATTRIBUTION_TUNING'

/** How a setting is given on the command line, without its value. */
export const shownFlag = ({ flag, isTuning }: Pick<Setting<unknown>, 'flag' | 'isTuning'>): string =>
  isTuning === true ? `${TUNING_FLAG} ${flag.slice(2)}` : flag

/** How a setting is given in the environment, without its value. */
export const shownVariable = ({ flag, variable, isTuning }: Setting<unknown>): string =>
  isTuning === true ? `${TUNING_VARIABLE} ${flag.slice(2)}` : variable

/** A URL to which paths are appended: without trailing slashes. */
const base = (setting: Setting<string>): Setting<string> => ({
  ...setting,
  parse: (value) => setting.parse(value).replace(/\/+$/, ''),
})

/** The roles that `up` can leave out. */
export const BACKGROUND_ROLES = ['courier', 'exporter', 'sentinel', 'trainer'] as const
export type BackgroundRole = (typeof BACKGROUND_ROLES)[number]

const withoutRoles: Setting<readonly BackgroundRole[]> = {
  ...names('without-roles'),
  fallback: [],
  isSwitch: false,
  parse: (value) => {
    const wanted = value.split(',')
    const known = BACKGROUND_ROLES.filter((role) => wanted.includes(role))
    if (known.length !== wanted.length) throw new Error(`a comma-separated list of ${BACKGROUND_ROLES.join(', ')}`)
    return known
  },
}

const STAGES = ['a', 't', 'b', 'c'] as const
type Stage = (typeof STAGES)[number]

const stages: Setting<readonly Stage[]> = {
  ...names('stages'),
  fallback: STAGES,
  isSwitch: false,
  parse: (value) => {
    const wanted = value.split(',')
    // Lists for 0.3.0 do not name t, which was a part of stage A: nobody would run it.
    if (wanted.includes('b') && !wanted.includes('t')) wanted.push('t')
    const known = STAGES.filter((stage) => wanted.includes(stage))
    if (known.length !== wanted.length) throw new Error('a comma-separated list of the stages a, t, b and c')
    return known
  },
}

export const SETTINGS = {
  host: text('host', '127.0.0.1'),
  port: integer('port', 8080, 0, 65_535),
  intakePort: integer('intake-port', 4318, 0, 65_535), // that of OTLP/HTTP; 0: no intake
  intakeGrpcPort: integer('intake-grpc-port', 0, 0, 65_535), // that of OTLP/gRPC, usually 4317; 0: none
  sqlPort: integer('sql-port', 0, 0, 65_535), // 0: no SQL
  httpParser: choice('http-parser', 'auto', ['auto', 'uws', 'node']), // auto: uws where it answers every request
  drainSeconds: integer('drain-seconds', 5, 0, 3_600), // after SIGTERM; longer than balancers take to notice
  metricsPort: integer('metrics-port', 0, 0, 65_535), // 0: no metrics
  metricsHost: text('metrics-host', '127.0.0.1'),
  metricsToken: text('metrics-token', ''),
  otlpTracesEndpoint: alsoKnownAs(
    url('otlp-traces-endpoint', '', ['http:', 'https:']), // empty: no spans
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  ),
  traceSampleRatio: decimal('trace-sample-ratio', 0.01, 0, 1),
  dataDir: text('data-dir', '.data'),
  mode: choice('mode', 'production', ['production', 'sandbox']),
  region: matching('region', '', REGION_PATTERN, 'a region in lower case, such as eu-central-1'),
  logLevel: choice('log-level', 'info', ['trace', 'debug', 'info', 'warn', 'error', 'silent']),
  logFormat: choice('log-format', 'auto', ['auto', 'json', 'text']), // auto: text at a terminal, else JSON
  trustedProxies: list('trusted-proxies', parseNetworks), // whose X-Forwarded-For names the client
  baseUrl: base(url('base-url', '', ['http:', 'https:'])),
  errorDocsUrl: base(text('error-docs-url', '')),
  tlsCertFile: text('tls-cert-file', ''),
  tlsKeyFile: text('tls-key-file', ''),
  withoutRoles,

  demo: toggle('demo'),
  demoSpeed: decimal('speed', 60, 0.01, 1_000_000),
  demoEventIds: choice('event-ids', 'fresh', ['fresh', 'fixed']),

  natsUrl: urls('nats-url', '', ['nats:', 'tls:']),
  natsUser: text('nats-user', ''),
  natsPassword: text('nats-password', ''),
  natsServerBin: text('nats-server-bin', ''),
  durability: choice('durability', 'power', ['power', 'process']), // of the private broker and store
  streamReplicas: ofLayout('stream-replicas', 1, 1, 5),
  partitions: ofLayout('partitions', 2, 1, PARTITIONS_MAX),
  indexStaleSeconds: tuning(integer('index-stale-seconds', 300, 0, 86_400)),
  invocationsBytesMax: ofLayout('invocations-bytes-max', 8 * 1024 ** 3, 1024 ** 2, 2 ** 50),
  observationsBytesMax: tuning(ofLayout('observations-bytes-max', 1024 ** 3, 1024 ** 2, 2 ** 50)),
  eventsBytesMax: tuning(ofLayout('events-bytes-max', 1024 ** 3, 1024 ** 2, 2 ** 50)),
  keysBytesMax: tuning(ofLayout('keys-bytes-max', 2 * 1024 ** 3, 1024 ** 2, 2 ** 50)),
  eventLogDays: tuning(integer('event-log-days', 90, 1, 3_650)),
  sortedCopiesDays: tuning(integer('sorted-copies-days', 35, 1, 36_500)),

  storeUrl: url('store-url', '', ['http:', 'https:']),
  storeUser: text('store-user', 'attribution'),
  storePassword: text('store-password', ''),
  storeDatabase: text('store-database', 'attribution'),
  storeCluster: text('store-cluster', ''),
  rateIngest: integer('rate-ingest', 20_000, 1, 10_000_000),
  rateRead: integer('rate-read', 50, 1, 10_000_000),
  rateReport: integer('rate-report', 10, 1, 10_000_000),
  rateControl: integer('rate-control', 10, 1, 10_000_000),
  rateToken: integer('rate-token', 5, 1, 10_000_000),
  accessTokenSeconds: tuning(integer('access-token-seconds', 900, 60, 3_600)),
  spoolBytesMax: tuning(integer('spool-bytes-max', 512 * 1024 ** 2, 1024 ** 2, 2 ** 50)),

  exportsDir: text('exports-dir', ''),
  exportsS3Bucket: text('exports-s3-bucket', ''),
  exportsS3Endpoint: url('exports-s3-endpoint', '', ['http:', 'https:']),
  exportsS3Region: text('exports-s3-region', 'us-east-1'),
  exportsS3AccessKey: text('exports-s3-access-key', ''),
  exportsS3SecretKey: text('exports-s3-secret-key', ''),
  exportsPerTenant: tuning(integer('exports-per-tenant', 2, 1, 100)),

  storePort: integer('store-port', 8123, 1, 65_535),
  storeMemoryBytesMax: tuning(integer('store-memory-bytes-max', 6 * 1024 ** 3, 256 * 1024 ** 2, 2 ** 50)),

  webhookPorts: numbers('webhook-ports', [443, 8443], 1, 65_535),
  webhookAllowedNetworks: list('webhook-allowed-networks', parseNetworks),
  webhookResolvers: list('webhook-resolvers', parseResolvers),
  webhookCaFile: text('webhook-ca-file', ''),
  webhookInFlight: tuning(integer('webhook-in-flight', 8, 1, 64)),
  webhookTimeoutMs: tuning(integer('webhook-timeout-ms', 10_000, 100, 60_000)),
  webhookRetryMaximaMs: tuning(numbers('webhook-retry-maxima-ms', RETRY_MAXIMA_MS, 1, 86_400_000)),
  webhookRetryStopMs: tuning(integer('webhook-retry-stop-ms', RETRY_STOP_MS, 1_000, 7 * 86_400_000)),

  masterKey: text('master-key', ''),
  masterKeyFile: text('master-key-file', ''),
  memberName: text('member-name', ''),
  sentinelEveryMs: tuning(integer('sentinel-every-ms', 5_000, 100, 3_600_000)),
  probeEveryMs: tuning(integer('probe-every-ms', 0, 0, 3_600_000)), // 0: no probe
  surveyEveryMs: tuning(integer('survey-every-ms', 60_000, 100, 3_600_000)),
  trainEveryMinutes: tuning(integer('train-every-minutes', 360, 1, 525_600)),
  stages,
} as const satisfies Record<string, Setting<unknown>>

export type SettingName = keyof typeof SETTINGS

/** What `--help` shows; `--help-all` shows the rest, too. */
const COMMON: ReadonlySet<SettingName> = new Set<SettingName>([
  ...([
    'host',
    'port',
    'intakePort',
    'intakeGrpcPort',
    'sqlPort',
    'dataDir',
    'mode',
    'region',
    'demo',
    'partitions',
  ] as const),
  ...(['natsUrl', 'natsUser', 'natsPassword', 'storeUrl', 'storeUser', 'storePassword'] as const),
  ...(['baseUrl', 'tlsCertFile', 'tlsKeyFile', 'masterKeyFile', 'metricsPort', 'logLevel'] as const),
  ...(['rateIngest', 'rateRead', 'exportsS3Bucket'] as const),
])
/** They belong to the layout of the broker; a process that sets them only checks them. */
export const LAYOUT_SETTINGS = [
  'partitions',
  'streamReplicas',
  'invocationsBytesMax',
  'observationsBytesMax',
  'eventsBytesMax',
  'keysBytesMax',
] as const satisfies readonly SettingName[]
/** For roles that connect to the broker. */
export const BROKER_SETTINGS = [
  'natsUrl',
  'natsUser',
  'natsPassword',
  ...LAYOUT_SETTINGS,
] as const satisfies readonly SettingName[]
/** For roles that decrypt secrets: the master keys themselves, or the file with them. */
export const MASTER_KEY_SETTINGS = ['masterKey', 'masterKeyFile'] as const satisfies readonly SettingName[]
export const STORE_SETTINGS = [
  'storeUrl',
  'storeUser',
  'storePassword',
  'storeDatabase',
  'storeCluster',
] as const satisfies readonly SettingName[]
/** For roles that serve metrics. */
export const METRICS_SETTINGS = ['metricsPort', 'metricsHost', 'metricsToken'] as const satisfies readonly SettingName[]
/** For roles that export spans. */
export const SPANS_SETTINGS = ['otlpTracesEndpoint', 'traceSampleRatio'] as const satisfies readonly SettingName[]
export const RATE_SETTINGS = [
  'rateIngest',
  'rateRead',
  'rateReport',
  'rateControl',
  'rateToken',
] as const satisfies readonly SettingName[]

/** For roles that check or call what tenants name: webhook endpoints, and buckets of export schedules. */
export const WEBHOOK_TARGET_SETTINGS = [
  'webhookPorts',
  'webhookAllowedNetworks',
  'webhookResolvers',
  'webhookCaFile',
] as const satisfies readonly SettingName[]
/** How couriers deliver. */
export const COURIER_SETTINGS = [
  'webhookInFlight',
  'webhookTimeoutMs',
  'webhookRetryMaximaMs',
  'webhookRetryStopMs',
] as const satisfies readonly SettingName[]
/** For roles that write export files or serve them. */
export const BLOB_SETTINGS = [
  'dataDir',
  'region',
  'exportsDir',
  'exportsS3Bucket',
  'exportsS3Endpoint',
  'exportsS3Region',
  'exportsS3AccessKey',
  'exportsS3SecretKey',
] as const satisfies readonly SettingName[]

export const TLS_SETTINGS = ['tlsCertFile', 'tlsKeyFile'] as const satisfies readonly SettingName[]

/**
 * Metrics tell much about an instance: beyond this machine they need a token.
 *
 * @throws ConfigError
 */
export function requireMetricsToken({
  metricsPort,
  metricsHost,
  metricsToken,
}: Config<'metricsPort' | 'metricsHost' | 'metricsToken'>): void {
  if (metricsPort === 0 || isLoopback(metricsHost) || metricsToken !== '') return
  throw new ConfigError(`--metrics-token must be set, since --metrics-host ${metricsHost} is beyond this machine`)
}

const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || host.startsWith('127.')

type ValueOf<S> = S extends Setting<infer T> ? T : never
export type Config<N extends SettingName> = { readonly [K in N]: ValueOf<(typeof SETTINGS)[K]> }

/**
 * Reads the named settings.
 *
 * @param argv the arguments after the script, `--flag value`, `--flag=value`, or `--flag` for a switch
 * @param required settings that are empty by default and must be given; of several, one is enough
 * @throws ConfigError that names every unknown flag, flag without its value, value outside its bounds, and required
 *   setting that is missing
 * @throws HelpAsked for `--help`, `--help-all` and `--version`
 */
export function readConfig<N extends SettingName>(
  wanted: readonly N[],
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  required: readonly (readonly N[])[] = [],
): Config<N> {
  if (argv.includes('--help')) throw new HelpAsked(helpText(wanted, ({ name }) => COMMON.has(name)))
  if (argv.includes('--help-all')) throw new HelpAsked(helpText(wanted, () => true))
  if (argv.includes('--version')) throw new HelpAsked(serviceVersion())
  const faults: string[] = []
  const flags = parseFlags(wanted, argv, faults)
  const tuned = new Map(
    (env[TUNING_VARIABLE] ?? '').split(' ').flatMap((pair) => tuningOf(pair, TUNING_VARIABLE, faults)),
  )
  const config: Record<string, unknown> = {}
  for (const name of wanted) {
    const setting: Setting<unknown> = SETTINGS[name]
    const { flag, variable, standardVariable = variable } = setting
    const stated = setting.isTuning === true ? tuned.get(flag) : env[variable]
    const given = flags.get(flag) ?? stated ?? (setting.standardVariable && (env[standardVariable] || undefined))
    const source = flags.has(flag)
      ? shownFlag(setting)
      : stated === undefined
        ? standardVariable
        : shownVariable(setting)
    if (given === undefined) {
      config[name] = setting.fallback
      continue
    }
    try {
      config[name] = setting.parse(given)
    } catch (cause) {
      faults.push(`${source} must be ${(cause as Error).message}`)
    }
  }
  for (const anyOf of required) {
    if (anyOf.some((name) => config[name] !== '')) continue
    const names = anyOf.map((name) => `${SETTINGS[name].flag} (or ${SETTINGS[name].variable})`)
    faults.push(`${names.join(' or ')} must be set`)
  }
  if (faults.length > 0) throw new ConfigError(faults.join('; '))
  return config as Config<N>
}

/** The environment from which another process reads the same settings. Settings without a value keep their defaults. */
export function environmentOf(config: Partial<Config<SettingName>>): Record<string, string> {
  const isSet = (value: unknown): boolean =>
    value !== '' && value !== undefined && !(Array.isArray(value) && value.length === 0)
  const set = Object.entries(config)
    .filter(([, value]) => isSet(value))
    .map(([name, value]) => ({ setting: SETTINGS[name as SettingName] as Setting<unknown>, value: String(value) }))
  const tuned = set.filter(({ setting }) => setting.isTuning === true)
  return {
    ...Object.fromEntries(
      set.filter(({ setting }) => setting.isTuning !== true).map(({ setting, value }) => [setting.variable, value]),
    ),
    ...(tuned.length > 0 && {
      [TUNING_VARIABLE]: tuned.map(({ setting, value }) => `${setting.flag.slice(2)}=${value}`).join(' '),
    }),
  }
}

function helpText(wanted: readonly SettingName[], isShown: (of: { readonly name: SettingName }) => boolean): string {
  const shown = wanted.filter((name) => isShown({ name }))
  const settings = shown.map((name): Setting<unknown> => SETTINGS[name])
  const defaultOf = ({ fallback, shownDefault, isSwitch }: Setting<unknown>): string =>
    shownDefault ?? (isSwitch ? 'off' : String(fallback) === '' ? 'none' : String(fallback))
  const options = settings
    .filter(({ isTuning }) => isTuning !== true)
    .map((each) => `  ${each.flag.padEnd(28)} ${each.variable.padEnd(38)} default ${defaultOf(each)}`)
  const tunings = settings
    .filter(({ isTuning }) => isTuning === true)
    .map((each) => `  ${each.flag.slice(2).padEnd(28)} default ${defaultOf(each)}`)
  return [
    'Options, with their environment variables and defaults (flags override the environment):',
    ...options,
    ...(tunings.length > 0
      ? [`Tuning, as ${TUNING_FLAG} name=value, or ${TUNING_VARIABLE} with such pairs separated by spaces:`, ...tunings]
      : []),
    ...(shown.length < wanted.length ? ['--help-all shows all options.'] : []),
  ].join('\n')
}

/** A pair of `--tuning` as an entry by flag: none if it is empty or not one of ours, which is a fault. */
function tuningOf(pair: string, source: string, faults: string[]): [flag: string, value: string][] {
  if (pair === '') return []
  const equals = pair.indexOf('=')
  const flag = `--${equals < 0 ? pair : pair.slice(0, equals)}`
  const known = Object.values<Setting<unknown>>(SETTINGS).filter(({ isTuning }) => isTuning === true)
  if (!known.some((setting) => setting.flag === flag)) {
    const nearest = nearestOf(
      flag,
      known.map((setting) => setting.flag),
    )
    const hint = nearest === undefined ? 'see --help-all' : `did you mean ${nearest.slice(2)}?`
    faults.push(`${source} does not know ${flag.slice(2).replace(/[^ -~]/g, '?')} (${hint})`)
    return []
  }
  if (equals < 0) {
    faults.push(`${source} ${pair} needs =value`)
    return []
  }
  return [[flag, pair.slice(equals + 1)]]
}

function parseFlags(wanted: readonly SettingName[], argv: readonly string[], faults: string[]): Map<string, string> {
  const settings = wanted.map((name): Setting<unknown> => SETTINGS[name])
  const known = new Map(settings.filter(({ isTuning }) => isTuning !== true).map((each) => [each.flag, each]))
  if (known.size < settings.length) known.set(TUNING_FLAG, TUNING)
  const flags = new Map<string, string>()
  const keep = (flag: string, value: string): void => {
    const pairs = flag === TUNING_FLAG ? tuningOf(value, TUNING_FLAG, faults) : ([[flag, value]] as const)
    for (const [name, given] of pairs) flags.set(name, given)
  }
  for (let i = 0; i < argv.length; i++) {
    const argument = argv[i] ?? ''
    const equals = argument.indexOf('=')
    const flag = equals < 0 ? argument : argument.slice(0, equals)
    const setting = known.get(flag)
    if (setting === undefined) {
      const shown = flag.replace(/[^ -~]/g, '?') // the message stays one line, whatever the argument contains
      const tuned = settings.find((each) => each.flag === flag)
      const nearest = tuned === undefined ? nearestOf(flag, [...known.keys()]) : `${shownFlag(tuned)}=…`
      faults.push(`unknown option ${shown} (${nearest === undefined ? 'see --help' : `did you mean ${nearest}?`})`)
      // What follows is probably its value.
      if (flag.startsWith('--') && equals < 0 && argv[i + 1]?.startsWith('--') === false) i++
      continue
    }
    if (equals >= 0) {
      keep(flag, argument.slice(equals + 1))
    } else if (setting.isSwitch) {
      keep(flag, 'true')
    } else {
      const value = argv[++i]
      // `--data-dir --demo` lacks the folder. A value that equals a flag must follow an equals sign.
      if (value === undefined || known.has(value)) {
        faults.push(`${flag} needs a value`)
        i--
      } else keep(flag, value)
    }
  }
  return flags
}

const TUNING: Setting<string> = text('tuning')
