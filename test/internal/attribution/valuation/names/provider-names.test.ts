import { expect, test } from 'vitest'
import { canonicalProvider, isGateway } from '../../../../../internal/attribution/valuation/names/provider-names.js'

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
