import { type Config, environmentOf, type SettingName } from '../../config/settings.js'
import type { Addresses } from './role-addresses.js'
import type { InstanceFiles } from './supervised-instance.js'

/**
 * The environment of the roles: their settings, and a few variables of the environment in which `up` was started. Those
 * are picked by name, since an environment may hold secrets that the roles do not need.
 */
type Variables = Readonly<Record<string, string | undefined>>

/** NODE_EXTRA_CA_CERTS: private certificate authorities of a broker, a store or a bucket. */
const EVERY_ROLE = ['PATH', 'NODE_EXTRA_CA_CERTS']

/** Headers, compression and certificates of the exporter of spans, which its library reads. */
const OF_SPANS = /^OTEL_EXPORTER_OTLP_(?:TRACES_)?(?:HEADERS|COMPRESSION|CERTIFICATE|CLIENT_KEY|CLIENT_CERTIFICATE)$/

/** The environments of the roles, with the settings that all of them have. */
export function environmentsFor(
  settings: Readonly<Record<string, string>>,
  from: Variables,
  { exportsS3Bucket, otlpTracesEndpoint }: Config<'exportsS3Bucket' | 'otlpTracesEndpoint'>,
): (role: string) => Readonly<Record<string, string>> {
  const ofSpans = otlpTracesEndpoint === '' ? {} : inheritedForSpans(from)
  const env = { ...inherited(from), ...ofSpans, ...settings }
  const s3Env = exportsS3Bucket === '' ? env : { ...env, ...inheritedForS3(from) }
  // Gateways hand out the files that exporters write.
  return (role) => (role === 'gateway' || role === 'exporter' ? s3Env : env)
}

/** For every role. */
export const inherited = (from: Variables): Record<string, string> => picked(from, (name) => EVERY_ROLE.includes(name))

/** Also where spans are exported. */
export const inheritedForSpans = (from: Variables): Record<string, string> =>
  picked(from, (name) => OF_SPANS.test(name))

/** Also for roles that use S3: where its library finds credentials (variables, or a profile below HOME). */
export const inheritedForS3 = (from: Variables): Record<string, string> =>
  picked(from, (name) => name === 'HOME' || name.startsWith('AWS_'))

function picked(from: Variables, isWanted: (name: string) => boolean): Record<string, string> {
  const variables: Record<string, string> = {}
  for (const [name, value] of Object.entries(from)) if (value !== undefined && isWanted(name)) variables[name] = value
  return variables
}

/** Settings of `up` that are not for all roles: a role gets the addresses that it needs as arguments. */
const NOT_SHARED: ReadonlySet<string> = new Set<SettingName>([
  'host',
  'port',
  'intakePort',
  'demo',
  'demoSpeed',
  'demoEventIds',
  'natsServerBin',
  'durability',
  'withoutRoles',
  'metricsHost',
  'metricsPort',
  'metricsToken',
])

/** The settings of all roles as environment variables. */
export function sharedSettings(
  config: Partial<Config<SettingName>>,
  { dataDir }: Pick<InstanceFiles, 'dataDir'>,
  { baseUrl, nats, store }: Addresses,
): Record<string, string> {
  const shared = Object.fromEntries(Object.entries(config).filter(([name]) => !NOT_SHARED.has(name)))
  return environmentOf({
    ...shared,
    baseUrl,
    dataDir,
    natsUrl: nats.url,
    natsUser: nats.user,
    natsPassword: nats.password,
    storeUrl: store.url,
    storePassword: store.password,
  })
}
