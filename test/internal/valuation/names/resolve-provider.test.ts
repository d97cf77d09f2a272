import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalProvider, providerName } from '../../../../internal/records/provider-names.js'
import { HOSTS, siteOf } from '../../../../internal/sdk/hosts.js'
import { MODEL_FORMS } from '../../../../internal/sdk/model-forms.js'
import { providerOfModels } from '../../../../internal/valuation/names/model-vendors.js'
import { modelName, resolveProvider } from '../../../../internal/valuation/names/resolve-provider.js'

const resolve = (provider: string | undefined, model?: string, host?: string) =>
  resolveProvider({ providers: [provider], models: [model], host })

describe('spellings', () => {
  test.each([
    // Vercel AI SDK 5 to 7 (recorded), @mastra/otel-exporter
    ['openai.chat', 'openai'],
    ['openai.responses', 'openai'],
    ['openai.embedding', 'openai'],
    ['anthropic.messages', 'anthropic'],
    ['google.generative-ai', 'gcp.gemini'],
    ['google.vertex.chat', 'gcp.vertex_ai'],
    ['vertex.anthropic.messages', 'gcp.vertex_ai'],
    ['vertex.chat', 'gcp.vertex_ai'],
    ['azure-openai.responses', 'azure.ai.openai'],
    ['azure.chat', 'azure.ai.openai'],
    ['amazon-bedrock', 'aws.bedrock'],
    ['mistral.chat', 'mistral'],
    ['xai.responses', 'xai'],
    ['togetherai.chat', 'together_ai'],
    // LiteLLM
    ['bedrock_converse', 'aws.bedrock'],
    ['text-completion-openai', 'openai'],
    // OpenTelemetry, earlier and now
    ['az.ai.inference', 'azure.ai.inference'],
    ['az.ai.openai', 'azure.ai.openai'],
    ['gcp.gemini', 'gcp.gemini'],
    // OpenInference
    ['aws', 'aws.bedrock'],
    ['OpenAI', 'openai'],
    // Envoy AI Gateway: the path of a backend
    ['envoy-ai-gateway/anthropic/route/0', 'anthropic'],
  ])('%s is %s, and nothing is assumed', (stated, provider) => {
    expect(resolve(stated, 'some-model')).toEqual({ provider, region: undefined, assumption: undefined })
  })

  test('a provider is never a part of a word', () => {
    expect(resolve('not-mistral-but-openai', 'my-model').provider).toBe('not-mistral-but-openai')
    expect(resolve('openai-compatible-lab', 'gpt-4o').provider).toBe('openai-compatible-lab')
    expect(resolve('default/not-mistral-but-openai/route', 'gpt-4o')).toMatchObject({
      provider: 'openai',
      assumption: 'provider_from_model',
    })
  })

  test('a name that leaves open which of Google’s services it means gives way to what tells', () => {
    expect(resolve('gcp.gen_ai', 'gemini-2.5-flash')).toMatchObject({ provider: 'gcp.gemini' })
    expect(resolve('gcp.gen_ai', 'claude-sonnet-4-5@20250929')).toMatchObject({ provider: 'gcp.vertex_ai' })
    expect(resolve('gcp.gen_ai', 'gemini-2.5-pro', 'us-east5-aiplatform.googleapis.com')).toMatchObject({
      provider: 'gcp.vertex_ai',
      region: 'us-east5',
    })
    expect(resolveProvider({ providers: ['google', 'vertexai'], models: ['gemini-2.5-pro'] })).toMatchObject({
      provider: 'gcp.vertex_ai',
      assumption: undefined,
    })
  })
})

describe('frameworks and gateways', () => {
  test.each([
    ['strands-agents', 'gpt-4o', 'openai'],
    ['strands-agents', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'aws.bedrock'],
    ['langchain', 'claude-sonnet-4-5', 'anthropic'],
    ['langgraph', 'gemini-2.5-pro', 'gcp.gemini'],
    ['litellm', 'anthropic/claude-haiku-4-5', 'anthropic'],
    ['litellm', 'claude-haiku-4-5', 'anthropic'],
    ['gateway', 'anthropic/claude-haiku-4.5', 'anthropic'],
    ['vercel', 'xai/grok-4', 'xai'],
    ['vercel', 'vertex/gemini-2.5-pro', 'gcp.vertex_ai'],
    ['gateway', 'bedrock/eu.anthropic.claude-opus-4-8', 'aws.bedrock'],
  ])('%s names no provider: the model %s does', (stated, model, provider) => {
    expect(resolve(stated, model)).toEqual({ provider, region: undefined, assumption: 'provider_from_model' })
  })

  test('a model that many serve leaves a framework’s call without a provider, and a gateway’s with the gateway', () => {
    expect(resolve('strands-agents', 'llama-3.3-70b').provider).toBeUndefined()
    expect(resolve('litellm', 'my-group').provider).toBe('litellm')
  })

  test('a provider in another attribute counts where the first names a framework', () => {
    expect(resolveProvider({ providers: ['langchain', undefined, 'azure'], models: ['gpt-4o'] })).toEqual({
      provider: 'azure.ai.openai',
      region: undefined,
      assumption: undefined,
    })
  })
})

describe('hosts', () => {
  test.each([
    ['openai', 'contoso.openai.azure.com', 'azure.ai.openai', undefined, 'provider_from_host'],
    ['azure', 'https://contoso.openai.azure.com/openai/v1?x=@api.openai.com', 'azure.ai.openai', undefined, undefined],
    ['azure.ai.inference', 'contoso.services.ai.azure.com', 'azure.ai.inference', undefined, undefined],
    ['azure-openai.chat', 'contoso.services.ai.azure.com', 'azure.ai.openai', undefined, undefined],
    [undefined, 'api.anthropic.com', 'anthropic', undefined, 'provider_from_host'],
    ['openai', 'eu.api.openai.com', 'openai', 'eu', undefined],
    ['openai', 'us.api.openai.com:443', 'openai', 'us', undefined],
    ['openai', 'http://api.openai.com/r/maf/v1/', 'openai', undefined, undefined],
    ['openai', 'api.groq.com', 'groq', undefined, 'provider_from_host'],
    ['openai', 'openrouter.ai', 'openrouter', undefined, 'provider_from_host'],
    ['anthropic', 'bedrock-runtime.eu-central-1.amazonaws.com', 'aws.bedrock', 'eu-central-1', 'provider_from_host'],
    [undefined, 'bedrock-runtime-fips.us-west-2.amazonaws.com', 'aws.bedrock', 'us-west-2', 'provider_from_host'],
    ['aws.bedrock', 'vpce-0a-1b.bedrock-runtime.us-east-1.vpce.amazonaws.com', 'aws.bedrock', 'us-east-1', undefined],
    ['gcp.gemini', 'europe-west1-aiplatform.googleapis.com', 'gcp.vertex_ai', 'europe-west1', 'provider_from_host'],
    ['gcp.vertex_ai', 'aiplatform.googleapis.com', 'gcp.vertex_ai', 'global', undefined],
    ['gcp.vertex_ai', 'aiplatform.eu.rep.googleapis.com', 'gcp.vertex_ai', 'eu', undefined],
    ['gcp.vertex_ai', 'generativelanguage.googleapis.com', 'gcp.gemini', undefined, 'provider_from_host'],
    ['strands-agents', 'api.mistral.ai', 'mistral', undefined, 'provider_from_host'],
    // Not a host of a provider: nothing is read into it.
    ['openai', '127.0.0.1', 'openai', undefined, undefined],
    ['openai', 'api.openai.com.evil.example', 'openai', undefined, undefined],
    ['mistral', 'notapi.openai.com', 'mistral', undefined, undefined],
  ])('%s at %s is %s', (stated, host, provider, region, assumption) => {
    expect(resolve(stated, 'gpt-4o', host)).toEqual({ provider, region, assumption })
  })

  test('every row has a source, and its host is found below and beside itself', () => {
    for (const { host, provider, source } of HOSTS) {
      expect(source).not.toBe('')
      expect(siteOf(`https://${host}/v1`)?.provider).toBe(provider)
      expect(siteOf(`abc.${host}`)?.provider).toBe(provider)
      expect(siteOf(`abc${host}`)).toBeUndefined()
    }
  })
})

describe('models', () => {
  test.each([
    ['gpt-4o-2024-08-06', 'openai'],
    ['o4-mini', 'openai'],
    ['gpt-7', 'openai'],
    ['ft:gpt-4o-mini:acme::abc', 'openai'],
    ['text-embedding-3-small', 'openai'],
    ['gpt-35-turbo', 'azure.ai.openai'],
    ['claude-opus-5[1m]', 'anthropic'],
    ['claude-haiku-4-5@20251001', 'gcp.vertex_ai'],
    ['anthropic.claude-sonnet-4-6', 'aws.bedrock'],
    ['eu.amazon.nova-pro-v1:0', 'aws.bedrock'],
    ['arn:aws:bedrock:us-east-1:111122223333:application-inference-profile/a1b2', 'aws.bedrock'],
    ['publishers/google/models/gemini-2.5-pro', 'gcp.vertex_ai'],
    ['azure/gpt-4o', 'azure.ai.openai'],
    ['deepseek-chat', 'deepseek'],
    ['gpt-oss-120b', undefined],
    ['llama-3.3-70b-instruct', undefined],
    ['my-deployment', undefined],
    ['claudette', undefined],
  ])('without a provider, %s is of %s', (model, provider) => {
    expect(resolve(undefined, model)).toEqual({
      provider,
      region: undefined,
      assumption: provider === undefined ? undefined : 'provider_from_model',
    })
  })

  test('every form has a source and a provider that we know', () => {
    for (const { provider, source } of MODEL_FORMS) {
      expect(source).not.toBe('')
      expect(canonicalProvider(provider)).toBe(provider)
    }
  })

  test.each([
    ['anthropic', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'aws.bedrock'],
    ['anthropic', 'arn:aws:bedrock:us-east-1:1:application-inference-profile/a1', 'aws.bedrock'],
    ['openai', 'anthropic/claude-sonnet-4-5', 'anthropic'],
    ['openai', 'claude-sonnet-4-5', 'anthropic'],
  ])('%s does not serve %s: that is %s', (stated, model, provider) => {
    expect(resolve(stated, model)).toMatchObject({ provider, assumption: 'provider_from_model' })
  })

  test.each([
    ['openrouter', 'anthropic/claude-sonnet-4.5', 'openrouter'],
    ['azure', 'gpt-4o', 'azure.ai.openai'],
    ['aws.bedrock', 'claude-sonnet-4-5', 'aws.bedrock'],
    ['gcp.vertex_ai', 'claude-sonnet-4-5', 'gcp.vertex_ai'],
    ['groq', 'openai/gpt-oss-120b', 'groq'],
    ['openai', 'my-deployment', 'openai'],
  ])('%s serves %s', (stated, model, provider) => {
    expect(resolve(stated, model)).toMatchObject({ provider, assumption: undefined })
  })

  test('the resource or route of a request says more than the bare name of what was served', () => {
    expect(providerOfModels(['claude-sonnet-4-5', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'])).toBe('bedrock')
    expect(providerOfModels(['gemini-2.5-pro', 'vertex_ai/gemini-2.5-pro'])).toBe('vertex_ai')
  })

  test.each([
    ['claude-opus-5[1m]', 'claude-opus-5'],
    ['claude-sonnet-4-5 [1m]', 'claude-sonnet-4-5'],
    ['gpt-4o', 'gpt-4o'],
    ['llama"3"', 'llama_3_'],
  ])('the model %s is named %s', (stated, name) => {
    expect(modelName(stated)).toBe(name)
  })
})

const SPELLINGS = {
  openai: ['openai', 'OpenAI', 'openai.chat', 'openai.responses'],
  'azure.ai.openai': ['azure', 'azure-openai.chat', 'az.ai.openai', 'Azure OpenAI'],
  anthropic: ['anthropic', 'anthropic.messages', 'Anthropic'],
  'aws.bedrock': ['amazon-bedrock', 'aws.bedrock', 'bedrock_converse'],
  'gcp.vertex_ai': ['vertex_ai', 'google.vertex.chat', 'vertexai'],
  mistral: ['mistral_ai', 'mistral.chat', 'mistral'],
}

test('whatever the spelling, and wherever frameworks stand beside it, one provider has one name', () => {
  const provider = fc.constantFrom(...(Object.keys(SPELLINGS) as (keyof typeof SPELLINGS)[]))
  const noise = fc.array(fc.constantFrom(undefined, 'langchain', 'strands-agents', 'litellm', 'gateway'))
  const hosts = fc.constantFrom(undefined, '127.0.0.1', 'proxy.internal.example', 'ai-gateway.vercel.sh')
  fc.assert(
    fc.property(provider, noise, noise, hosts, fc.nat(), (name, before, after, host, pick) => {
      const spelled = SPELLINGS[name][pick % SPELLINGS[name].length]
      const resolved = resolveProvider({ providers: [...before, spelled, ...after], models: ['m'], host })
      expect(resolved).toEqual({ provider: name, region: undefined, assumption: undefined })
      expect(providerName(spelled as string)).toBe(name)
    }),
  )
})

test('where only hosts and models tell, their order does not matter', () => {
  const models = ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'claude-sonnet-4-5-20250929', 'my-alias', undefined]
  fc.assert(
    fc.property(fc.shuffledSubarray(models, { minLength: models.length }), (shuffled) => {
      expect(resolveProvider({ providers: ['langchain'], models: shuffled }).provider).toBe('aws.bedrock')
    }),
  )
})
