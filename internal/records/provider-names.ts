/**
 * Who serves a model and bills for it, from the name an event gives: proxies, SDKs and OpenTelemetry spell one
 * provider in many ways (`aws.bedrock`, `gcp.gemini`, `azure-openai`). Only whole names count; nothing is guessed.
 */
import { readFileSync } from 'node:fs'

interface ProviderNamesFile {
  readonly gateways: readonly string[]
  /** `name`: how reports, filters and FOCUS write it. Default: the id, which is the key of price books. */
  readonly providers: Readonly<Record<string, { readonly name?: string; readonly aliases: readonly string[] }>>
}

/** Lower case, hyphens and spaces as underscores: how names of providers are compared. */
export function comparableProvider(name: string): string {
  return name.trim().toLowerCase().replace(/[- ]/g, '_')
}

/** The provider's id, or undefined when the name is none we know. */
export function canonicalProvider(name: string): string | undefined {
  return ID_BY_NAME.get(comparableProvider(name))
}

/**
 * The one name by which reports, filters and FOCUS know a provider: that of OpenTelemetry (`azure.ai.openai`,
 * `aws.bedrock`); a name that we do not know stays as it is.
 */
export function providerName(stated: string): string {
  return NAME_BY_SPELLING.get(comparableProvider(stated)) ?? stated
}

/** The spellings of providers whose name differs from them, as pairs. Spellings are comparable names. */
export const renamedProviders = (): Iterable<readonly [spelling: string, name: string]> => NAME_BY_SPELLING

/** A gateway forwards to whomever the model name states first (`openai/gpt-4o`); alone it names nobody who bills. */
export function isGateway(name: string): boolean {
  return GATEWAYS.has(comparableProvider(name))
}

function readNames(): ProviderNamesFile {
  // The file is part of the product, so its shape is a fact and not an input.
  return JSON.parse(readFileSync(new URL('./providers.data.json', import.meta.url), 'utf8')) as ProviderNamesFile
}

const NAMES = readNames()
const GATEWAYS: ReadonlySet<string> = new Set(NAMES.gateways)
const ID_BY_NAME: ReadonlyMap<string, string> = new Map(
  Object.entries(NAMES.providers).flatMap(([id, { aliases }]) =>
    [id, ...aliases].map((name) => [comparableProvider(name), id] as const),
  ),
)
const NAME_BY_SPELLING: ReadonlyMap<string, string> = new Map(
  Object.entries(NAMES.providers).flatMap(([id, { name = id, aliases }]) =>
    [id, name, ...aliases].map((spelling) => [comparableProvider(spelling), name] as const),
  ),
)
