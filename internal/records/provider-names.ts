/**
 * Who serves a model and bills for it, from the name an event gives: proxies, SDKs and OpenTelemetry spell one
 * provider in many ways (`aws.bedrock`, `gcp.gemini`, `azure-openai.chat`). Only whole names count, and names to which
 * an SDK has added its API; nothing is guessed.
 */
import { readFileSync } from 'node:fs'

interface ProviderNamesFile {
  readonly gateways: readonly string[]
  readonly frameworks: readonly string[]
  /** Names of a company that sells models in several places. */
  readonly unspecified: readonly string[]
  /** What the Vercel AI SDK adds to a provider's name after a dot. */
  readonly apis: readonly string[]
  readonly providers: Readonly<Record<string, ProviderRow>>
}

interface ProviderRow {
  /** How reports, filters and FOCUS write it. Default: the id, which is the key of price books. */
  readonly name?: string
  readonly aliases: readonly string[]
  /** Names to which an API may be added. */
  readonly sdk?: readonly string[]
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

/** A library within the application that calls a provider: its name says nothing of who serves or bills. */
export function isFramework(name: string): boolean {
  return FRAMEWORKS.has(comparableProvider(name))
}

/** Whether the name leaves open which of a company's services it means: OpenTelemetry's `gcp.gen_ai`. */
export function isUnspecified(name: string): boolean {
  return UNSPECIFIED.has(comparableProvider(name))
}

function readNames(): ProviderNamesFile {
  // The file is part of the product, so its shape is a fact and not an input.
  return JSON.parse(readFileSync(new URL('./providers.data.json', import.meta.url), 'utf8')) as ProviderNamesFile
}

const NAMES = readNames()
const GATEWAYS: ReadonlySet<string> = new Set(NAMES.gateways)
const FRAMEWORKS: ReadonlySet<string> = new Set(NAMES.frameworks)
const UNSPECIFIED: ReadonlySet<string> = new Set(NAMES.unspecified)

function* spellingsOf(id: string, { name = id, aliases, sdk = [] }: ProviderRow): Iterable<string> {
  yield* [id, name, ...aliases].map(comparableProvider)
  for (const base of sdk) for (const api of NAMES.apis) yield `${base}.${api}`
}

const ID_BY_NAME: ReadonlyMap<string, string> = new Map(
  Object.entries(NAMES.providers).flatMap(([id, row]) => [...spellingsOf(id, row)].map((name) => [name, id] as const)),
)
const NAME_BY_SPELLING: ReadonlyMap<string, string> = new Map(
  Object.entries(NAMES.providers).flatMap(([id, row]) =>
    [...spellingsOf(id, row)].map((spelling) => [spelling, row.name ?? id] as const),
  ),
)
