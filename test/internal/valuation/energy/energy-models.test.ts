import { expect, test } from 'vitest'
import { loadFootprintTables } from '../../../../internal/valuation/energy/footprint.js'

const { models } = loadFootprintTables()
const row = (provider: string, model: string): string => {
  const found = models.find(provider, model)
  return found.kind === 'none' ? found.reason : found.model.row
}

test.each([
  ['openai', 'gpt-4o', 'openai/gpt-4o'],
  ['azure', 'azure/eu/gpt-4o-2024-08-06', 'openai/gpt-4o-2024-08-06'],
  ['azure', 'gpt-35-turbo', 'openai/gpt-3.5-turbo'],
  ['openai', 'ft:gpt-4o-mini-2024-07-18:acme::1', 'openai/gpt-4o-mini-2024-07-18'],
  ['bedrock', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'anthropic/claude-sonnet-4-5-20250929'],
  ['bedrock', 'anthropic.claude-opus-4-6-v1', 'anthropic/claude-opus-4-6'],
  ['vertex_ai', 'claude-haiku-4-5@20251001', 'anthropic/claude-haiku-4-5-20251001'],
  ['vertex_ai', 'claude-opus-4-6@default', 'anthropic/claude-opus-4-6'],
  ['anthropic', 'claude-sonnet-4-5', 'anthropic/claude-sonnet-4-5-20250929'],
  ['openrouter', 'anthropic/claude-sonnet-4.5', 'anthropic/claude-sonnet-4-5-20250929'],
  ['openrouter', 'google/gemini-2.5-pro', 'gemini/gemini-2.5-pro'],
  ['litellm', 'gemini/gemini-2.5-flash', 'gemini/gemini-2.5-flash'],
  ['huggingface', 'meta-llama/Meta-Llama-3.1-8B-Instruct', 'huggingface/meta-llama/Meta-Llama-3.1-8B-Instruct'],
  ['fireworks', 'accounts/fireworks/models/llama-v3p1-405b-instruct', 'Llama 3.1 405B'],
  ['bedrock', 'us.meta.llama3-3-70b-instruct-v1:0', 'Llama 3.3 70B'],
  ['groq', 'openai/gpt-oss-120b', 'gpt-oss 120B'],
  ['nobody-knows', 'llama-3.1-8b-instruct', 'Llama 3.1 8B'],
])('%s %s is %s', (provider, model, expected) => {
  expect(row(provider, model)).toBe(expected)
})

test.each([
  ['openai', 'gpt-99', 'unknown_model'],
  ['nobody-knows', 'gpt-4o', 'unknown_model'],
  ['openai', 'claude-sonnet-4-5', 'unknown_model'],
  ['openrouter', 'meta-llama/gpt-4o', 'unknown_model'],
  ['groq', 'deepseek-r1-distill-llama-70b', 'unknown_model'],
  ['deepinfra', 'NousResearch/Hermes-3-Llama-3.1-70B', 'unknown_model'],
  ['bedrock', 'arn:aws:bedrock:us-east-1:1:application-inference-profile/x', 'unknown_model'],
  ['openai', 'gpt-4o-mini-tts', 'not_text_output'],
  ['openai', 'text-embedding-3-small', 'not_text_output'],
  ['bedrock', 'cohere.embed-v4:0', 'not_text_output'],
  ['gemini', 'gemini-2.5-flash-image', 'not_text_output'],
])('%s %s is unknown: %s', (provider, model, reason) => {
  expect(row(provider, model)).toBe(reason)
})

test('an operator without published figures has the wide range and the world zone', () => {
  expect(models.operator('openai')).toEqual({ provider: 'openai', isKnown: true, pue: ['1.2', '1.2'], zone: 'USA' })
  expect(models.operator('deepinfra')).toEqual({
    provider: 'other',
    isKnown: false,
    pue: ['1.09', '1.54'],
    zone: 'WOR',
  })
})
