/** Which models are compared, and what each book calls them. */
import { findGenaiModel, type GenaiModel, type GenaiProvider } from './genai-book.js'
import type { LitellmRow, LitellmRows } from './litellm-map.js'

/** A provider as events, genai-prices and LiteLLM name it. */
interface ComparedProvider {
  /** As an event states it, and as our book has it. */
  readonly id: string
  readonly genai: string
  /** Before the model's name in a key of LiteLLM's map; the first that has a row counts. */
  readonly litellmPrefixes: readonly string[]
  /** `litellm_provider` of a row without a prefix, which another provider's could be. */
  readonly litellmProviders: readonly string[]
}

export const PROVIDERS: readonly ComparedProvider[] = [
  { id: 'openai', genai: 'openai', litellmPrefixes: [''], litellmProviders: ['openai', 'text-completion-openai'] },
  {
    id: 'anthropic',
    genai: 'anthropic',
    litellmPrefixes: ['', 'anthropic/'],
    litellmProviders: ['anthropic'],
  },
  { id: 'gemini', genai: 'google', litellmPrefixes: ['gemini/'], litellmProviders: ['gemini'] },
  {
    id: 'bedrock',
    genai: 'aws',
    litellmPrefixes: ['', 'bedrock/'],
    litellmProviders: ['bedrock', 'bedrock_converse'],
  },
  { id: 'azure', genai: 'azure', litellmPrefixes: ['azure/'], litellmProviders: ['azure'] },
  { id: 'mistral', genai: 'mistral', litellmPrefixes: ['mistral/'], litellmProviders: ['mistral'] },
  { id: 'deepseek', genai: 'deepseek', litellmPrefixes: ['deepseek/'], litellmProviders: ['deepseek'] },
  { id: 'xai', genai: 'x-ai', litellmPrefixes: ['xai/'], litellmProviders: ['xai'] },
  { id: 'groq', genai: 'groq', litellmPrefixes: ['groq/'], litellmProviders: ['groq'] },
  { id: 'cohere', genai: 'cohere', litellmPrefixes: ['', 'cohere/'], litellmProviders: ['cohere', 'cohere_chat'] },
  { id: 'together_ai', genai: 'together', litellmPrefixes: ['together_ai/'], litellmProviders: ['together_ai'] },
  {
    id: 'fireworks_ai',
    genai: 'fireworks',
    litellmPrefixes: ['fireworks_ai/', 'fireworks_ai/accounts/fireworks/models/'],
    litellmProviders: ['fireworks_ai'],
  },
  { id: 'perplexity', genai: 'perplexity', litellmPrefixes: ['perplexity/'], litellmProviders: ['perplexity'] },
  {
    id: 'vertex_ai',
    genai: 'google',
    litellmPrefixes: ['', 'vertex_ai/'],
    litellmProviders: [
      'vertex_ai',
      'vertex_ai-anthropic_models',
      'vertex_ai-deepseek_models',
      'vertex_ai-embedding-models',
      'vertex_ai-language-models',
      'vertex_ai-llama_models',
      'vertex_ai-minimax_models',
      'vertex_ai-mistral_models',
      'vertex_ai-moonshot_models',
      'vertex_ai-openai_models',
      'vertex_ai-qwen_models',
      'vertex_ai-zai_models',
    ],
  },
  { id: 'azure_ai', genai: 'azure', litellmPrefixes: ['azure_ai/'], litellmProviders: ['azure_ai'] },
  { id: 'cerebras', genai: 'cerebras', litellmPrefixes: ['cerebras/'], litellmProviders: ['cerebras'] },
  { id: 'minimax', genai: 'minimax', litellmPrefixes: ['minimax/'], litellmProviders: ['minimax'] },
  { id: 'moonshot', genai: 'moonshotai', litellmPrefixes: ['moonshot/'], litellmProviders: ['moonshot'] },
  { id: 'voyage', genai: 'voyageai', litellmPrefixes: ['voyage/'], litellmProviders: ['voyage'] },
  { id: 'zai', genai: 'zai', litellmPrefixes: ['zai/'], litellmProviders: ['zai'] },
  { id: 'openrouter', genai: 'openrouter', litellmPrefixes: ['openrouter/'], litellmProviders: ['openrouter'] },
]

/** OpenRouter lists some 900 models; compared are those of these authors, and those of our book. */
const ROUTED_AUTHORS = new Set([
  'openai',
  'anthropic',
  'google',
  'x-ai',
  'deepseek',
  'mistralai',
  'meta-llama',
  'qwen',
  'moonshotai',
  'z-ai',
])

export interface ComparedModel {
  readonly provider: string
  readonly name: string
  readonly genai: GenaiModel | undefined
  readonly litellm: LitellmRow | undefined
}

/** @param ours provider and model of each row of our book that is not of one region */
export function comparedModels(
  ours: readonly { readonly provider: string; readonly model: string }[],
  genai: readonly GenaiProvider[],
  litellm: LitellmRows,
): readonly ComparedModel[] {
  return PROVIDERS.flatMap((provider) => {
    const own = ours.filter((row) => row.provider === provider.id).map(({ model }) => model)
    const listed = genai.find(({ id }) => id === provider.genai)?.models.map(({ id }) => id) ?? []
    const wanted = listed.filter(
      (id) => provider.id !== 'openrouter' || ROUTED_AUTHORS.has(id.slice(0, Math.max(0, id.indexOf('/')))),
    )
    const mapped = litellmNames(provider, litellm).filter((name) => findGenaiModel(genai, provider.genai, name))
    const names = new Map([...mapped, ...wanted, ...own].map((name) => [name.toLowerCase(), name]))
    return [...names.values()].map((name) => ({
      provider: provider.id,
      name,
      ...namedModel(provider.id, name, genai, litellm),
    }))
  })
}

/** The models of a provider in LiteLLM's map, but for those of one region: their names hold it (`eu-west-1/…`). */
const litellmNames = ({ id, litellmPrefixes: prefixes, litellmProviders }: ComparedProvider, rows: LitellmRows) =>
  [...rows]
    .filter(([, row]) => litellmProviders.includes(row.litellm_provider ?? ''))
    .map(([key]) => key.slice(prefixes.findLast((each) => key.startsWith(each))?.length ?? key.length))
    .filter((name) => name !== '' && !(OF_REGIONS.has(id) && name.includes('/')))

const OF_REGIONS = new Set(['azure', 'azure_ai', 'bedrock'])

/** What each of the other books has under this name. */
export function namedModel(
  providerId: string,
  name: string,
  genai: readonly GenaiProvider[],
  litellm: LitellmRows,
): Pick<ComparedModel, 'genai' | 'litellm'> {
  const provider = PROVIDERS.find(({ id }) => id === providerId)
  return {
    genai: provider && findGenaiModel(genai, provider.genai, name),
    litellm: provider && litellmRow(provider, name, litellm),
  }
}

function litellmRow(provider: ComparedProvider, name: string, rows: LitellmRows): LitellmRow | undefined {
  for (const prefix of provider.litellmPrefixes) {
    const row = rows.get(`${prefix}${name}`.toLowerCase())
    if (row !== undefined && provider.litellmProviders.includes(row.litellm_provider ?? '')) return row
  }
  return undefined
}
