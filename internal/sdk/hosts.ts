/**
 * Who serves a request, by the host that it went to. A host is better evidence than the name that a client states:
 * OpenAI's SDK calls itself `openai` also when it talks to Azure or Groq.
 */

/** What a host tells. */
export interface Site {
  /** Id of the provider; undefined for a gateway, which forwards to several. */
  readonly provider: string | undefined
  /** Where the provider processes the request, as the host names it. */
  readonly region: string | undefined
}

interface HostRow {
  /** A host, which all below it belong to. */
  readonly host: string
  readonly provider?: string
  /** Finds the region in what stands before `host`. */
  readonly region?: RegExp
  readonly source: string
}

/** `eu.` of `eu.api.openai.com`. */
const LABEL = /^([a-z]{2})$/
const CLOUD_REGION = /^([a-z]{2,}(?:-[a-z]+)*-[a-z]+\d*(?:-\d+)?)$/

export const HOSTS: readonly HostRow[] = [
  {
    host: 'api.openai.com',
    provider: 'openai',
    region: LABEL,
    source: 'developers.openai.com, data residency: us., eu., au., in., jp., ae.',
  },
  { host: 'openai.azure.com', provider: 'azure', source: 'learn.microsoft.com, Azure OpenAI endpoints' },
  { host: 'openai.azure.us', provider: 'azure', source: 'learn.microsoft.com, Azure Government endpoints' },
  { host: 'cognitiveservices.azure.com', provider: 'azure', source: 'learn.microsoft.com, Azure OpenAI endpoints' },
  { host: 'services.ai.azure.com', provider: 'azure_ai', source: 'learn.microsoft.com, Foundry endpoints' },
  { host: 'models.ai.azure.com', provider: 'azure_ai', source: 'learn.microsoft.com, serverless deployments' },
  { host: 'inference.ai.azure.com', provider: 'azure_ai', source: 'learn.microsoft.com, serverless deployments' },
  { host: 'api.anthropic.com', provider: 'anthropic', source: '@anthropic-ai/sdk 1.14.0, baseURL' },
  { host: 'generativelanguage.googleapis.com', provider: 'gemini', source: 'ai.google.dev, API reference' },
  { host: 'api.mistral.ai', provider: 'mistral', source: 'docs.mistral.ai, API' },
  { host: 'codestral.mistral.ai', provider: 'mistral', source: 'docs.mistral.ai, code generation' },
  { host: 'api.deepseek.com', provider: 'deepseek', source: 'api-docs.deepseek.com' },
  { host: 'api.x.ai', provider: 'xai', region: /^([a-z]{2}|[a-z]{2}-[a-z]+-\d)$/, source: 'docs.x.ai, regions' },
  { host: 'api.groq.com', provider: 'groq', source: 'console.groq.com/docs' },
  { host: 'api.cohere.com', provider: 'cohere', source: 'docs.cohere.com' },
  { host: 'api.cohere.ai', provider: 'cohere', source: 'docs.cohere.com, compatibility API' },
  { host: 'openrouter.ai', provider: 'openrouter', region: LABEL, source: 'openrouter.ai/docs' },
  { host: 'api.together.xyz', provider: 'together_ai', source: 'docs.together.ai' },
  { host: 'api.together.ai', provider: 'together_ai', source: 'docs.together.ai' },
  { host: 'api.fireworks.ai', provider: 'fireworks_ai', source: 'docs.fireworks.ai' },
  { host: 'api.perplexity.ai', provider: 'perplexity', source: 'docs.perplexity.ai' },
  { host: 'api.cerebras.ai', provider: 'cerebras', source: 'inference-docs.cerebras.ai' },
  { host: 'api.deepinfra.com', provider: 'deepinfra', source: 'deepinfra.com/docs' },
  { host: 'api.moonshot.ai', provider: 'moonshot', source: 'platform.moonshot.ai/docs' },
  { host: 'api.moonshot.cn', provider: 'moonshot', source: 'platform.moonshot.cn/docs' },
  { host: 'api.minimax.io', provider: 'minimax', source: 'platform.minimax.io/docs' },
  { host: 'api.minimaxi.com', provider: 'minimax', source: 'platform.minimaxi.com/docs' },
  { host: 'dashscope.aliyuncs.com', provider: 'dashscope', source: 'help.aliyun.com, Model Studio' },
  { host: 'dashscope-intl.aliyuncs.com', provider: 'dashscope', source: 'alibabacloud.com/help, Model Studio' },
  { host: 'dashscope-us.aliyuncs.com', provider: 'dashscope', source: 'alibabacloud.com/help, Model Studio' },
  { host: 'api.z.ai', provider: 'zai', source: 'docs.z.ai' },
  { host: 'open.bigmodel.cn', provider: 'zai', source: 'docs.bigmodel.cn' },
  { host: 'api.sambanova.ai', provider: 'sambanova', source: 'docs.sambanova.ai' },
  { host: 'api.ai21.com', provider: 'ai21', source: 'docs.ai21.com' },
  { host: 'api.voyageai.com', provider: 'voyage', source: 'docs.voyageai.com' },
  { host: 'api.nova.amazon.com', provider: 'amazon_nova', source: 'nova.amazon.com/dev' },
  { host: 'router.huggingface.co', provider: 'huggingface', source: 'huggingface.co/docs, inference providers' },
  { host: 'api-inference.huggingface.co', provider: 'huggingface', source: 'huggingface.co/docs, inference API' },
  { host: 'api.inference.wandb.ai', provider: 'wandb', source: 'docs.wandb.ai, inference' },
  { host: 'ml.cloud.ibm.com', provider: 'watsonx', region: CLOUD_REGION, source: 'cloud.ibm.com/apidocs/watsonx-ai' },
  // The name of the model says whom these gateways ask.
  { host: 'ai-gateway.vercel.sh', source: 'vercel.com/docs/ai-gateway' },
  { host: 'api.portkey.ai', source: 'portkey.ai/docs' },
]

/** Hosts whose region is a part of a label, or stands after it. */
const PATTERNS: readonly { readonly form: RegExp; readonly provider: string; readonly source: string }[] = [
  {
    form: /(?:^|\.)bedrock-[a-z-]+\.([a-z-]+-\d)\.(?:(?:vpce\.)?amazonaws\.com(?:\.cn)?|api\.aws)$/,
    provider: 'bedrock',
    source: 'docs.aws.amazon.com/general, Bedrock endpoints',
  },
  {
    form: /^(?:([a-z]+-[a-z]+\d+)-)?aiplatform\.googleapis\.com$/,
    provider: 'vertex_ai',
    source: 'cloud.google.com/vertex-ai, endpoints: without a region it is the global one',
  },
  {
    form: /^aiplatform\.([a-z]+)\.rep\.googleapis\.com$/,
    provider: 'vertex_ai',
    source: 'cloud.google.com/vertex-ai, multi-region endpoints',
  },
]

/** @returns undefined for a host that we do not know @param text a host, or a URL with one */
export function siteOf(text: string): Site | undefined {
  const host = hostOf(text)
  if (!host.includes('.')) return undefined
  for (const { form, provider } of PATTERNS) {
    const found = form.exec(host)
    if (found !== null) return { provider, region: found[1] ?? (provider === 'vertex_ai' ? 'global' : undefined) }
  }
  for (let at = 0; at >= 0; at = host.indexOf('.', at) + 1 || -1) {
    const row = ROW_BY_HOST.get(at === 0 ? host : host.slice(at))
    if (row === undefined) continue
    const before = at === 0 ? '' : host.slice(0, at - 1)
    return { provider: row.provider, region: row.region?.exec(before)?.[1] }
  }
  return undefined
}

/** `api.openai.com` of `https://user@api.openai.com:443/v1?…`. Some clients state a URL as the address. */
export function hostOf(text: string): string {
  if (PLAIN_HOST.test(text)) return text
  const afterScheme = text.indexOf('://') + 3
  const rest = afterScheme === 2 ? text : text.slice(afterScheme)
  const authority = /^[^/?#]*/.exec(rest)?.[0] ?? ''
  return authority
    .slice(authority.lastIndexOf('@') + 1)
    .replace(/:\d*$/, '')
    .replace(/\.$/, '')
    .toLowerCase()
}
const PLAIN_HOST = /^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/

/** All that are known here. */
export const PROVIDERS: ReadonlySet<string | undefined> = new Set(
  [...HOSTS, ...PATTERNS].map(({ provider }) => provider),
)
const ROW_BY_HOST: ReadonlyMap<string, HostRow> = new Map(HOSTS.map((row) => [row.host, row]))
