import type { Selected } from '../../text/select-json.js'
import { nameOf, objectOf } from './fields.js'

export interface LitellmModels {
  readonly requested: string | undefined
  readonly served: string | undefined
  /** The name of a deployment that says nothing of the model behind it. */
  readonly deployment?: string | undefined
}

/**
 * What the caller asked for (`model_group`), and what LiteLLM sent it to. A deployment whose name is one of its owner's
 * own (Azure, an ARN) has a `base_model`, which is the key by which LiteLLM looks its price up.
 */
export function modelsOf(payload: Selected): LitellmModels {
  const provider = nameOf(payload['custom_llm_provider']) ?? ''
  const hidden = objectOf(payload['hidden_params'])
  const [ofBatch] = (hidden['batch_models'] as readonly string[] | undefined) ?? []
  const stated = nameOf(hidden['litellm_model_name'], payload['model'])
  const deployment = bareModel(nameOf(ofBatch) ?? stated, provider)
  const base = bareModel(nameOf(objectOf(payload['model_map_information'])['model_map_key']), provider)
  const requested = nameOf(payload['model_group']) ?? bareModel(nameOf(payload['model']), provider) ?? deployment
  if (base === undefined || deployment === undefined || ofBatch !== undefined || isVersionOf(deployment, base)) {
    return { requested, served: deployment ?? base }
  }
  // An answer from the cache, and some calls, have the alias in its place.
  return { requested, served: base, deployment: deployment === requested ? undefined : deployment }
}

/** `gpt-4o-2024-08-06` says more than the `gpt-4o` by which LiteLLM prices it. */
const isVersionOf = (model: string, base: string): boolean =>
  model.startsWith(base) && /^(?:[-@]\d[\d-]*)?(?:-v\d+(?::\d+)?)?$/.test(model.slice(base.length))

/** Which of a provider's APIs LiteLLM speaks stands before the model, and for Azure in which zone it is priced. */
const ROUTES: Readonly<Record<string, RegExp>> = {
  bedrock:
    /^(?:converse|converse_like|invoke|async_invoke|mantle|responses|[a-z]{2}(?:-gov)?-[a-z]+-\d|\d-month-commitment)\//,
  openai: /^responses\//,
  azure: /^(?:responses|o_series|gpt5_series|global|global-standard|us|eu)\//,
}

/** The model without LiteLLM's prefixes: `bedrock/converse/eu.anthropic.claude-...`. */
function bareModel(model: string | undefined, provider: string): string | undefined {
  if (model === undefined) return undefined
  const prefix = `${provider}/`
  let bare = provider !== '' && model.startsWith(prefix) ? model.slice(prefix.length) : model
  const route = ROUTES[provider]
  if (route !== undefined) while (route.test(bare)) bare = bare.replace(route, '')
  return nameOf(bare)
}
