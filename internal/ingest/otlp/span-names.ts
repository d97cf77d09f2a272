import { canonicalProvider } from '../../records/provider-names.js'
import { hostOf } from '../../sdk/hosts.js'
import { SERVICE_TIERS, type ServiceTier, SPEEDS, type Speed } from '../../text/call-words.js'
import { modelName, type ResolvedProvider, resolveProvider } from '../../valuation/names/resolve-provider.js'
import { nameOf } from '../adapters/fields.js'
import { membersOf } from './labels.js'
import { FACT, type Fact, type Facts, type FactValue } from './span-facts.js'

/** The models of a call, as a span states them. */
export interface SpanModels {
  readonly requested: string | undefined
  readonly served: string | undefined
}

/** At what price a provider sold the call: its tier, its speed, and where the call was processed. */
export interface SpanTerms {
  readonly tier: ServiceTier | undefined
  /** The tier is the one that was asked for: nothing states the one that was served. */
  readonly isTierRequested: boolean
  readonly speed: Speed | undefined
  readonly region: string | undefined
}

/**
 * The models of a call.
 *
 * @param isSwapped LiteLLM's first spans: the request is the deployment, the response the alias that was asked for
 */
export function modelsOf(facts: Facts, isSwapped: boolean): SpanModels {
  const first = modelOf(facts, FACT.requestedModel)
  const second = modelOf(facts, FACT.servedModel)
  const [requested, served] = isSwapped && second !== undefined ? [second, first] : [first, second]
  const routed = modelOf(facts, FACT.routedModel)
  if (routed !== undefined) return { requested: requested ?? routed, served: behindRoute(routed, requested, served) }
  // OpenInference states one model in its attributes, the served one, and that of the request among its parameters.
  const parameter = modelOf(facts, FACT.parameterModel)
  if (parameter === undefined) return { requested, served }
  return { requested: parameter, served: served ?? (requested === parameter ? undefined : requested) }
}

/**
 * The model to which LiteLLM sent a request. Its response states the name of the group where the provider states none,
 * and never the profile of Bedrock, which decides the price.
 */
function behindRoute(routed: string, requested: string | undefined, served: string | undefined): string {
  const isStated = served !== undefined && served !== requested && !/[.:]/.test(routed)
  return isStated ? served : routed.slice(routed.indexOf('/') + 1)
}

/**
 * The model that served the call, by the name that its provider gives it: LiteLLM, and gateways, put the provider in
 * front (`anthropic/claude-sonnet-4-5`), and reports would show one model as two.
 */
export function servedModelOf({ requested, served }: SpanModels, provider: string | undefined): string | undefined {
  const stated = served ?? requested
  const slash = stated?.indexOf('/') ?? -1
  if (stated === undefined || slash <= 0 || provider === undefined) return served
  const id = canonicalProvider(provider)
  const isPrefix = id !== undefined && NAMES_WITHOUT_SLASH.has(id) && canonicalProvider(stated.slice(0, slash)) === id
  return isPrefix ? stated.slice(slash + 1) : served
}

/** Others have models that are called `groq/compound`, `openrouter/auto` or `nvidia/...`. */
const NAMES_WITHOUT_SLASH: ReadonlySet<string> = new Set([
  ...['anthropic', 'openai', 'azure', 'gemini', 'vertex_ai', 'bedrock'],
  ...['mistral', 'cohere', 'deepseek', 'xai'],
])

/** Who served the call, and where by its host. The result is shared by all calls that state the same names. */
export function providerOf(facts: Facts, { requested, served }: SpanModels): ResolvedProvider {
  const url = textOf(facts, FACT.host)
  const names = [
    textOf(facts, FACT.provider),
    textOf(facts, FACT.system),
    textOf(facts, FACT.providerOfSdk),
    textOf(facts, FACT.systemOfSdk),
    langChainProvider(facts),
    textOf(facts, FACT.routedModel),
    served,
    requested,
    // Of a URL no more than the host is kept: the rest may hold a secret.
    url === undefined ? undefined : hostOf(url),
  ]
  // Calls of one model state the same names, mostly.
  const model = served ?? requested ?? ''
  const known = KNOWN.get(model)
  if (known !== undefined && areEqual(names, known.names)) return known.resolved
  const resolved = resolveProvider({ providers: names.slice(0, 5), models: names.slice(5, 8), host: names[8] })
  if (KNOWN.size >= KNOWN_MAX) KNOWN.clear()
  KNOWN.set(model, { names, resolved })
  return resolved
}

type Names = readonly (string | undefined)[]

/** What the last names beside a model were found to mean. */
const KNOWN = new Map<string, { readonly names: Names; readonly resolved: ResolvedProvider }>()
const KNOWN_MAX = 1_024

function areEqual(some: Names, others: Names): boolean {
  for (let i = 0; i < some.length; i++) if (some[i] !== others[i]) return false
  return true
}

/** LangChain names the provider among what it knows of a run, wherever an instrumentation keeps that. */
function langChainProvider(facts: Facts): string | undefined {
  if (facts.tags.size > 0) {
    const tagged = nameOf(facts.tags.get(LANGCHAIN_PROVIDER))
    if (tagged !== undefined) return tagged
  }
  const metadata = facts.get(FACT.metadata)
  if (typeof metadata !== 'string' || !metadata.includes(LANGCHAIN_PROVIDER)) return undefined
  return nameOf(membersOf(metadata).find(([key]) => key === LANGCHAIN_PROVIDER)?.[1])
}
const LANGCHAIN_PROVIDER = 'ls_provider'

/** @param region where the host says that the call was processed */
export function termsOf(facts: Facts, region: string | undefined): SpanTerms {
  const served = tierOf(facts.get(FACT.servedTier))
  const tier = served ?? tierOf(facts.get(FACT.requestedTier))
  return {
    tier,
    isTierRequested: served === undefined && tier !== undefined,
    speed: SPEEDS.find((speed) => speed === facts.get(FACT.speed)),
    region: region ?? geographyOf(facts.get(FACT.inferenceGeo)),
  }
}

/** A tier by a provider's word; `auto` asks for whatever is free, and names none. */
function tierOf(value: FactValue | undefined): ServiceTier | undefined {
  if (typeof value !== 'string') return undefined
  const tier = unquoted(value).toLowerCase()
  if (STANDARD.has(tier)) return 'standard'
  return SERVICE_TIERS.find((each) => each === tier)
}
/** OpenAI, Groq, Anthropic. */
const STANDARD: ReadonlySet<string> = new Set(['default', 'on_demand', 'standard_only'])

/** Anthropic's `inference_geo`: `global` and `not_available` name no place. */
const geographyOf = (value: FactValue | undefined): string | undefined =>
  typeof value === 'string' && /^[a-z]{2}$/i.test(value) ? value.toLowerCase() : undefined

function modelOf(facts: Facts, fact: Fact): string | undefined {
  const stated = textOf(facts, fact)
  return stated === undefined ? undefined : modelName(stated)
}

function textOf(facts: Facts, fact: Fact): string | undefined {
  const value = facts.get(fact)
  return value === undefined ? undefined : nameOf(typeof value === 'string' ? unquoted(value) : value)
}

/** MLflow and Langfuse write texts as JSON, with their quotes. */
const unquoted = (text: string): string =>
  text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text
