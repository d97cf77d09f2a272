/**
 * Which provider is meant by the name of a model alone, where the form of the name leaves no other. Names of open
 * models, which many providers serve, tell nothing.
 */

const begins = (...starts: readonly string[]): RegExp => new RegExp(`^(?:${starts.join('|')})`)

/** In front of the dot of a Bedrock id: the vendor. */
const BEDROCK_VENDORS =
  'ai21 amazon anthropic cohere deepseek google luma meta minimax mistral moonshot moonshotai nvidia openai qwen ' +
  'stability twelvelabs writer zai'

/** Forms that only one provider gives to names of models, the more specific first. */
export const MODEL_FORMS: readonly { readonly form: RegExp; readonly provider: string; readonly source: string }[] = [
  { form: begins('arn:aws[a-z-]*:bedrock:'), provider: 'bedrock', source: 'docs.aws.amazon.com, ARNs of Bedrock' },
  {
    form: new RegExp(
      `^(?:(?:us-gov|us|eu|apac|ap|au|jp|ca|in|global)\\.)?(?:${BEDROCK_VENDORS.replaceAll(' ', '|')})\\.[a-z]`,
    ),
    provider: 'bedrock',
    source: 'docs.aws.amazon.com, model ids and inference profiles of Bedrock',
  },
  {
    form: begins('projects/[^/]+/locations/', 'publishers/'),
    provider: 'vertex_ai',
    source: 'cloud.google.com/vertex-ai, resource names',
  },
  { form: begins('claude-[a-z0-9-]+@'), provider: 'vertex_ai', source: 'platform.claude.com, Claude on Vertex AI' },
  { form: begins('claude-'), provider: 'anthropic', source: 'platform.claude.com, models' },
  {
    form: begins('gpt-35-'),
    provider: 'azure',
    source: 'learn.microsoft.com: Azure has no dot in names of deployments',
  },
  {
    form: begins(
      ...['(?:ft:)?gpt-(?:\\d|audio|image|realtime)', '(?:ft:)?o[134](?:-|$)', 'chatgpt-', 'codex-mini'],
      ...['text-embedding-(?:3-|ada-)', 'dall-e-', 'whisper-1$', 'tts-1', 'sora-', 'omni-moderation-'],
      ...['computer-use-preview', '(?:davinci|babbage)-002'],
    ),
    provider: 'openai',
    source: 'developers.openai.com, models; gpt-oss is open',
  },
  { form: begins('(?:models/)?gemini-'), provider: 'gemini', source: 'ai.google.dev, models' },
  {
    form: begins(
      '(?:mistral-(?:large|medium|small)|(?:magistral|devstral)-(?:small|medium))-(?:latest|\\d{4})$',
      '(?:ministral-\\d+b|codestral|pixtral-large)-(?:latest|\\d{4})$',
    ),
    provider: 'mistral',
    source: 'docs.mistral.ai, models',
  },
  { form: begins('deepseek-(?:chat|reasoner)$'), provider: 'deepseek', source: 'api-docs.deepseek.com, models' },
  { form: begins('grok-\\d'), provider: 'xai', source: 'docs.x.ai, models' },
  {
    form: begins('command-', '(?:rerank|embed)-(?:v\\d|english|multilingual)'),
    provider: 'cohere',
    source: 'docs.cohere.com, models',
  },
  { form: begins('sonar(?:-|$)'), provider: 'perplexity', source: 'docs.perplexity.ai, models' },
  { form: begins('voyage-'), provider: 'voyage', source: 'docs.voyageai.com, models' },
  {
    form: begins('qwen-(?:max|plus|turbo|flash)'),
    provider: 'dashscope',
    source: 'alibabacloud.com/help, Model Studio',
  },
]
