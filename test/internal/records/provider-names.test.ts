import { expect, test } from 'vitest'
import {
  canonicalProvider,
  isFramework,
  isGateway,
  isUnspecified,
  providerName,
} from '../../../internal/records/provider-names.js'

test.each([
  ['OpenAI', 'openai'],
  ['aws.bedrock', 'bedrock'],
  ['Amazon Bedrock', 'bedrock'],
  ['azure.ai.openai', 'azure'],
  ['azure-openai', 'azure'],
  ['gcp.gemini', 'gemini'],
  ['gcp.vertex_ai', 'vertex_ai'],
  ['x_ai', 'xai'],
  ['mistral_ai', 'mistral'],
  ['text-completion-openai', 'openai'],
])('the provider name %s maps to %s', (name, id) => {
  expect(canonicalProvider(name)).toBe(id)
})

test('a name that only resembles a provider maps to none', () => {
  expect(['open', 'openai2', 'my openai', ''].map(canonicalProvider)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ])
})

test('a gateway is not a billing provider', () => {
  expect(isGateway('LiteLLM')).toBe(true)
  expect(canonicalProvider('litellm')).toBeUndefined()
})

test('a framework names nobody, and a company with several services leaves open which one', () => {
  expect(['strands-agents', 'LangChain', 'openai'].map(isFramework)).toEqual([true, true, false])
  expect(['gcp.gen_ai', 'google', 'gcp.gemini'].map(isUnspecified)).toEqual([true, true, false])
})

test.each([
  ['azure', 'azure.ai.openai'],
  ['az.ai.openai', 'azure.ai.openai'],
  ['azure.openai', 'azure.ai.openai'],
  ['Azure OpenAI', 'azure.ai.openai'],
  ['azure.ai.inference', 'azure.ai.inference'],
  ['bedrock', 'aws.bedrock'],
  ['AWS.Bedrock', 'aws.bedrock'],
  ['vertexai', 'gcp.vertex_ai'],
  ['aws.anthropic', 'aws.bedrock'],
  ['gcp.anthropic', 'gcp.vertex_ai'],
  ['gcp.vertexai', 'gcp.vertex_ai'],
  ['gcp.gen_ai', 'gcp.gemini'],
  ['openai.responses', 'openai'],
  ['azure-openai.chat', 'azure.ai.openai'],
  ['google_ai_studio', 'gcp.gemini'],
  ['mistral_ai', 'mistral'],
  ['x_ai', 'xai'],
  ['ibm.watsonx.ai', 'watsonx'],
  ['OpenAI', 'openai'],
  ['In-House', 'In-House'],
])('the one name of %s is %s', (stated, name) => {
  expect(providerName(stated)).toBe(name)
  expect(providerName(name)).toBe(name)
})
