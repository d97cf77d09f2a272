/**
 * Maps the model name of an event to the names under which a table may list the model.
 *
 * Providers and proxies spell one model in many ways: `gpt-4o-2024-08-06`, `openai/gpt-4o`, `azure/eu/gpt-4o`,
 * `us.anthropic.claude-sonnet-4-5-20250929-v1:0`, ARNs, resource paths. A short, ordered list of rewrites turns the
 * name into candidates, and each candidate is looked up in a table as a whole string. There is no prefix, substring or
 * fuzzy match: it would give a model the numbers of a similar one. Each rewrite is recorded for the explanation.
 */
import { canonicalProvider, comparableProvider, isGateway } from '../../records/provider-names.js'
import { providerOfModels } from './model-vendors.js'

/**
 * Rewrites of a name, in the order of the attempts. `region_default`, `region_unstated` and `free_variant` are
 * steps of the look-up in a price book.
 */
const MATCH_STEPS = [
  'provider_alias',
  'gateway_prefix',
  'provider_from_model',
  'tenant_override',
  'exact',
  'prefix',
  'vendor_form',
  'free_variant',
  'region_unstated',
  'region_default',
  'profile_stripped',
  'date_stripped',
  'latest_stripped',
] as const
export type MatchStep = (typeof MATCH_STEPS)[number]

/** Confidence of a row found by this step, in hundredths. A chain has the confidence of its weakest step. */
export const STEP_CONFIDENCE_PERCENT: Readonly<Record<MatchStep, number>> = {
  provider_alias: 95,
  gateway_prefix: 95,
  provider_from_model: 80,
  tenant_override: 95,
  exact: 95,
  prefix: 95,
  vendor_form: 90,
  free_variant: 95,
  region_unstated: 90,
  region_default: 80,
  profile_stripped: 70,
  date_stripped: 80,
  latest_stripped: 70,
}

export interface CandidateName {
  /** In lower case; compared as a whole with the names of a table. */
  readonly name: string
  readonly steps: readonly MatchStep[]
}

export interface ModelNames {
  /** Canonical id, or the normalised name of an unknown provider. */
  readonly provider: string
  readonly isKnownProvider: boolean
  /** Best first. Empty when the name is opaque. */
  readonly candidates: readonly CandidateName[]
  /** An opaque name as a whole, to look up in the tenant's own tables. Empty for any other name. */
  readonly opaque: readonly CandidateName[]
  /** Price or location scope in the name: `eu` of `azure/eu/...`, the region of an ARN, a Vertex location. */
  readonly region: string | undefined
  /** Geography of a Bedrock inference profile: `us` of `us.anthropic...`. */
  readonly profile: string | undefined
  /** Whether only the customer's account can resolve the name (an application inference profile). */
  readonly isOpaque: boolean
  /** Whether OpenRouter serves the model for nothing: `…:free`. */
  readonly isFree: boolean
}

/** All names under which the model may be listed. Pure; callers cache the result per (provider, model). */
export function modelNames(statedProvider: string, statedModel: string): ModelNames {
  const { provider, isKnown, model, steps } = addressee(statedProvider, statedModel)
  if (!isKnown && isGateway(provider)) {
    const ofModel = providerOfModels([model])
    if (ofModel !== undefined) return namesOf(ofModel, true, model, ['provider_from_model'])
  }
  return namesOf(provider, isKnown, model, steps)
}

/** The provider as the names state it; nothing is inferred. Ids of stored prices and names are made of it. */
export const statedProviderOf = (statedProvider: string, statedModel: string): string =>
  addressee(statedProvider, statedModel).provider

interface Addressee {
  readonly provider: string
  readonly isKnown: boolean
  readonly model: string
  readonly steps: readonly MatchStep[]
}

function addressee(statedProvider: string, statedModel: string): Addressee {
  const provider = canonicalProvider(statedProvider)
  const comparable = comparableProvider(statedProvider)
  if (provider === undefined && isGateway(statedProvider)) {
    const slash = statedModel.indexOf('/')
    const first = slash > 0 ? statedModel.slice(0, slash) : ''
    const model = statedModel.slice(slash + 1)
    if (isGateway(first)) return addressee(statedProvider, model)
    const named = canonicalProvider(first)
    if (named !== undefined) return { provider: named, isKnown: true, model, steps: ['gateway_prefix'] }
  }
  if (provider === undefined) return { provider: comparable, isKnown: false, model: statedModel, steps: [] }
  return { provider, isKnown: true, model: statedModel, steps: provider === comparable ? [] : ['provider_alias'] }
}

function namesOf(
  provider: string,
  isKnownProvider: boolean,
  model: string,
  providerSteps: readonly MatchStep[],
): ModelNames {
  const found: CandidateName[] = []
  const seen = new Set<string>()
  const offer = (name: string, steps: readonly MatchStep[]): void => {
    if (name === '' || seen.has(name)) return
    seen.add(name)
    found.push({ name, steps: [...providerSteps, ...steps] })
  }

  const stripped = stripPrefixes(provider, model.trim().toLowerCase())
  if (stripped.isOpaque) {
    for (const [index, name] of stripped.names.entries()) offer(name, [index === 0 ? 'exact' : 'prefix'])
    const { region } = stripped
    const nothing = { candidates: [], profile: undefined, isFree: false }
    return { provider, isKnownProvider, opaque: found, region, isOpaque: true, ...nothing }
  }
  const plain = stripped.names.map(
    (name, index): CandidateName => ({ name, steps: [index === 0 ? 'exact' : 'prefix'] }),
  )
  const profile = provider === 'bedrock' ? BEDROCK_PROFILE.exec(plain.at(-1)?.name ?? '')?.[1] : undefined
  const withoutProfile = plain.flatMap((candidate) =>
    rewritten(candidate, 'profile_stripped', profileStripped(provider)),
  )

  // A weaker rewrite is tried only after all stronger ones, on all forms of the name: a listed name always takes
  // precedence. The profile goes last: it decides the price, and a date does not.
  for (const family of [plain, withoutProfile]) {
    const forms = family.flatMap(({ name, steps }) =>
      vendorForms(provider, name).map(
        (form, index): CandidateName => ({
          name: form,
          steps: index === 0 ? steps : [...inexact(steps), 'vendor_form'],
        }),
      ),
    )
    const undated = forms.flatMap((form) => rewritten(form, 'date_stripped', (from) => from.replace(DATE_AT_END, '')))
    const floating = [...forms, ...undated].flatMap((form) =>
      rewritten(form, 'latest_stripped', (from) => from.replace(/-latest$/, '')),
    )
    for (const { name, steps } of [...family, ...forms, ...undated, ...floating]) offer(name, steps)
  }
  const { region } = stripped
  const isFree = provider === 'openrouter' && stripped.names[0]?.endsWith(':free') === true
  return { provider, isKnownProvider, candidates: found, opaque: [], region, profile, isOpaque: false, isFree }
}

/** The name as sent and the names inside it, outermost first. */
function stripPrefixes(
  provider: string,
  model: string,
): { names: string[]; region: string | undefined; isOpaque: boolean } {
  const names = [model]
  let region: string | undefined
  for (let rest: string | undefined = model; rest !== undefined; ) {
    const arn: RegExpExecArray | null = BEDROCK_ARN.exec(rest)
    if (arn !== null) {
      region = arn[1] || region
      const isNamed = arn[2] === 'foundation-model' || arn[2] === 'inference-profile'
      if (!isNamed) return { names, region, isOpaque: true }
      rest = arn[3] ?? ''
      names.push(rest)
      continue
    }
    const vertex: RegExpExecArray | null = VERTEX_PATH.exec(rest)
    if (vertex !== null) {
      region = vertex[1] ?? region
      if (vertex[2] !== undefined) names.push(`${vertex[2]}/${vertex[3]}`)
      rest = vertex[3] ?? ''
      names.push(rest)
      continue
    }
    if (VERTEX_ENDPOINT.test(rest)) return { names, region, isOpaque: true }

    const step = firstSegment(provider, rest)
    if (step === undefined) break
    region = step.region ?? region
    rest = step.rest
    names.push(rest)
  }
  return { names, region, isOpaque: false }
}

/** The rest after one leading segment that is not part of the model: gateway, own vendor, route, folder, region. */
function firstSegment(provider: string, name: string): { rest: string; region?: string } | undefined {
  if (name.startsWith(FIREWORKS_FOLDER)) return { rest: name.slice(FIREWORKS_FOLDER.length) }
  const slash = name.indexOf('/')
  if (slash <= 0) return undefined
  const first = name.slice(0, slash)
  const rest = name.slice(slash + 1)
  if (first === 'models' || ROUTES.has(first) || isGateway(first) || canonicalProvider(first) === provider) {
    return { rest }
  }
  if (provider === 'bedrock' && AWS_REGION.test(first)) return { rest, region: first }
  if (provider.startsWith('azure') && AZURE_SCOPES.has(first)) return { rest, region: first }
  return undefined
}

/** The name and its lossless respellings, the name itself first. */
function vendorForms(provider: string, name: string): string[] {
  let forms = [name]
  for (const respell of [...RESPELLINGS, ...(RESPELLINGS_OF.get(provider) ?? [])]) {
    forms = [...new Set([...forms, ...forms.map(respell)])]
  }
  return forms
}

function rewritten(candidate: CandidateName, step: MatchStep, rewrite: (name: string) => string): CandidateName[] {
  const name = rewrite(candidate.name)
  if (name === candidate.name) return []
  return [{ name, steps: [...inexact(candidate.steps), step] }]
}

/** A rewritten name is not an exact match; the prefix step remains. */
function inexact(steps: readonly MatchStep[]): MatchStep[] {
  return steps.filter((step) => step !== 'exact')
}

function profileStripped(provider: string): (name: string) => string {
  return (name) => (provider === 'bedrock' ? (BEDROCK_PROFILE.exec(name)?.[2] ?? name) : name)
}

const BEDROCK_ARN = /^arn:aws[a-z-]*:bedrock:([a-z0-9-]*):\d*:([a-z-]+)\/(.+)$/
const BEDROCK_PROFILE = /^(us-gov|us|eu|apac|ap|au|jp|ca|in|global)\.(.+)$/
const VERTEX_PATH = /^(?:projects\/[^/]+\/locations\/([^/]+)\/)?publishers\/([^/]+)\/models\/(.+)$/
const VERTEX_ENDPOINT = /^projects\/[^/]+\/locations\/[^/]+\/endpoints\//
const FIREWORKS_FOLDER = 'accounts/fireworks/models/'
const AWS_REGION = /^[a-z]{2}(?:-gov)?-[a-z]+-\d$/
const AZURE_SCOPES: ReadonlySet<string> = new Set(['eu', 'us', 'global', 'global-standard'])
const ROUTES: ReadonlySet<string> = new Set(['converse', 'converse_like', 'invoke', 'responses', 'chat'])
const DATE_AT_END = /-20\d{2}(?:-\d{2}-\d{2}|\d{4})$/

const RESPELLINGS: readonly ((name: string) => string)[] = [
  (name) => name.replace(/@(20\d{2}-?\d{2}-?\d{2})$/, '-$1'),
  (name) => name.replace(/-(20\d{6})$/, '@$1'),
  (name) => name.replace(/^gpt-35(?=-|$)/, 'gpt-3.5'),
  (name) => name.replace(/^gpt-3\.5(?=-|$)/, 'gpt-35'),
  // The context window in a Bedrock id: the same model at the same price.
  (name) => name.replace(/:\d+k$/, ''),
  // A fine-tune is billed at the fine-tune row of its base model, never at the base price.
  (name) => name.replace(/^(ft:[^:]+):.*$/, '$1'),
  // Gateways name the vendor where a cloud does not, and write Anthropic's versions with a dot.
  (name) => name.replace(/^anthropic\/(?=claude-)/, ''),
  (name) => name.replace(/(claude-(?:[a-z]+-)?\d)\.(?=\d)/, '$1-'),
]

/** Bedrock's ids of these have the date of the one version that there is; Anthropic's aliases have none. */
const DATED: ReadonlyMap<string, string> = new Map(
  [
    ...['haiku-4-5-20251001', 'sonnet-4-5-20250929', 'sonnet-4-20250514'],
    ...['opus-4-5-20251101', 'opus-4-1-20250805', 'opus-4-20250514'],
  ].map((name) => [`claude-${name.slice(0, -9)}`, `claude-${name}`]),
)
const dated = (alias: string): string => DATED.get(alias) ?? alias

/** Respellings of names of one provider. */
const RESPELLINGS_OF: ReadonlyMap<string, readonly ((name: string) => string)[]> = new Map([
  [
    // Answers of Claude on Bedrock have Anthropic's name: without the vendor and the version of the id.
    'bedrock',
    [
      (name: string) => name.replace(/^claude-/, 'anthropic.claude-'),
      (name: string) => name.replace(/claude-(?:haiku|sonnet|opus)-4(?:-[15])?$/, dated),
      (name: string) => name.replace(/(anthropic\.claude-.+)-v1(?::0)?$/, '$1'),
      (name: string) => name.replace(/(anthropic\.claude-(?:(?!-v\d).)+)$/, '$1-v1'),
      (name: string) => name.replace(/(anthropic\.claude-(?:(?!-v\d).)+)$/, '$1-v1:0'),
    ],
  ],
  [
    // OpenRouter lists `claude-sonnet-4.5`; its permanent name of the model is `claude-4.5-sonnet-20250929`.
    'openrouter',
    [
      (name: string) => name.replace(/(claude-[a-z]+-\d)-(?=\d(?!\d))/, '$1.'),
      (name: string) => name.replace(/claude-(\d(?:\.\d)?)-(haiku|sonnet|opus)/, 'claude-$2-$1'),
    ],
  ],
])
