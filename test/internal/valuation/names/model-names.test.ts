import fc from 'fast-check'
import { expect, test } from 'vitest'
import { modelNames, statedProviderOf } from '../../../../internal/valuation/names/model-names.js'

const names = (provider: string, model: string): string[] =>
  modelNames(provider, model).candidates.map(({ name, steps }) => `${name} (${steps.join(', ')})`)

test('the first candidate is the model name as sent, in lower case', () => {
  expect(names('openai', 'GPT-4o')).toEqual(['gpt-4o (exact)'])
})

test('vendor, gateway, route and resource path are stripped from a model name', () => {
  expect(names('openai', 'openai/gpt-4o')).toContain('gpt-4o (prefix)')
  expect(names('bedrock', 'litellm/bedrock/converse/amazon.nova-pro-v1:0')).toContain('amazon.nova-pro-v1:0 (prefix)')
  expect(names('gemini', 'models/gemini-2.5-pro')).toContain('gemini-2.5-pro (prefix)')
  expect(names('vertex_ai', 'projects/p/locations/europe-west1/publishers/meta/models/llama-3')).toEqual([
    'projects/p/locations/europe-west1/publishers/meta/models/llama-3 (exact)',
    'meta/llama-3 (prefix)',
    'llama-3 (prefix)',
  ])
})

test('the author of a third-party model stays part of its name', () => {
  expect(names('openrouter', 'openrouter/openai/gpt-4o')).toEqual([
    'openrouter/openai/gpt-4o (exact)',
    'openai/gpt-4o (prefix)',
  ])
})

test('a region in a model name is extracted', () => {
  expect(modelNames('azure', 'azure/eu/gpt-4o').region).toBe('eu')
  expect(modelNames('bedrock', 'bedrock/us-gov-west-1/amazon.nova-pro-v1:0').region).toBe('us-gov-west-1')
  expect(
    modelNames('vertex_ai', 'projects/p/locations/asia-east1/publishers/google/models/gemini-2.5-pro').region,
  ).toBe('asia-east1')
  expect(modelNames('bedrock', 'arn:aws:bedrock:eu-west-1::foundation-model/amazon.nova-pro-v1:0').region).toBe(
    'eu-west-1',
  )
})

test('an inference profile contains its geography, and an application profile is opaque', () => {
  const profile = modelNames(
    'bedrock',
    'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-pro-v1:0',
  )
  const application = modelNames(
    'bedrock',
    'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3',
  )

  expect(profile.profile).toBe('us')
  expect(profile.candidates.at(-1)).toEqual({ name: 'amazon.nova-pro-v1:0', steps: ['prefix', 'profile_stripped'] })
  expect(application).toMatchObject({ isOpaque: true, candidates: [] })
})

test('candidates are respellings, then the name without date, then without latest', () => {
  expect(names('vertex_ai', 'claude-haiku-4-5@20251001')).toEqual([
    'claude-haiku-4-5@20251001 (exact)',
    'claude-haiku-4-5-20251001 (vendor_form)',
    'claude-haiku-4-5 (vendor_form, date_stripped)',
  ])
  expect(names('azure', 'gpt-35-turbo-latest')).toEqual([
    'gpt-35-turbo-latest (exact)',
    'gpt-3.5-turbo-latest (vendor_form)',
    'gpt-35-turbo (latest_stripped)',
    'gpt-3.5-turbo (vendor_form, latest_stripped)',
  ])
})

test('a fine-tune maps to the fine-tune row of its base model, never to the base model', () => {
  expect(names('openai', 'ft:gpt-4o-2024-08-06:org::id')).toEqual([
    'ft:gpt-4o-2024-08-06:org::id (exact)',
    'ft:gpt-4o-2024-08-06 (vendor_form)',
    'ft:gpt-4o (vendor_form, date_stripped)',
  ])
})

test('behind a gateway the model names its provider: by its vendor, else by a form that only one provider gives', () => {
  const found = (gateway: string, model: string) => {
    const { provider, isKnownProvider, candidates } = modelNames(gateway, model)
    return [provider, isKnownProvider, candidates[0]?.steps[0]]
  }

  expect(found('litellm', 'anthropic/claude-opus-5')).toEqual(['anthropic', true, 'gateway_prefix'])
  expect(found('litellm', 'claude-opus-5')).toEqual(['anthropic', true, 'provider_from_model'])
  expect(found('gateway', 'claude-haiku-4.5')).toEqual(['anthropic', true, 'provider_from_model'])
  expect(found('vercel', 'vercel/gpt-5.6-terra')).toEqual(['openai', true, 'provider_from_model'])
  expect(found('portkey', 'eu.anthropic.claude-opus-5')).toEqual(['bedrock', true, 'provider_from_model'])
  expect(found('gateway', 'llama-4-maverick')).toEqual(['gateway', false, 'exact'])
  expect(found('strands-agents', 'claude-opus-5')).toEqual(['strands_agents', false, 'exact'])
})

test('ids of stored prices and names are made of the provider as it is stated', () => {
  expect(statedProviderOf('litellm', 'claude-prod')).toBe('litellm')
  expect(statedProviderOf('litellm', 'litellm/azure/prod')).toBe('azure')
  expect(statedProviderOf('google', 'gemini-3.6-flash')).toBe('gemini')
})

test("a Claude model is found by gateways' spelling, by Anthropic's own on Bedrock, and by OpenRouter's permanent name", () => {
  expect(names('anthropic', 'claude-haiku-4.5')).toContain('claude-haiku-4-5 (vendor_form)')
  expect(names('anthropic', 'claude-3.5-haiku-20241022')).toContain('claude-3-5-haiku-20241022 (vendor_form)')
  expect(names('openrouter', 'anthropic/claude-4.5-sonnet-20250929')).toContain(
    'anthropic/claude-sonnet-4.5 (vendor_form, date_stripped)',
  )
  expect(names('openrouter', 'anthropic/claude-sonnet-4-5')).toContain('anthropic/claude-sonnet-4.5 (vendor_form)')
  expect(names('bedrock', 'claude-sonnet-4-5-20250929')).toContain(
    'anthropic.claude-sonnet-4-5-20250929-v1:0 (vendor_form)',
  )
  expect(names('bedrock', 'eu.anthropic.claude-opus-4.6')).toContain('eu.anthropic.claude-opus-4-6-v1 (vendor_form)')
  expect(names('bedrock', 'anthropic/claude-haiku-4.5')).toContain(
    'anthropic.claude-haiku-4-5-20251001-v1:0 (vendor_form)',
  )
  expect(names('bedrock', 'eu.anthropic.claude-sonnet-4-5')).toContain(
    'eu.anthropic.claude-sonnet-4-5-20250929-v1:0 (vendor_form)',
  )
  expect(names('vertex_ai', 'anthropic/claude-opus-4.8')).toContain('claude-opus-4-8 (vendor_form)')
  expect(names('bedrock', 'anthropic.claude-opus-4-7-v1:0')).toContain('anthropic.claude-opus-4-7 (vendor_form)')
})

test('every name with the profile comes before those without it', () => {
  const found = names('bedrock', 'global.anthropic.claude-haiku-4-5@20251001')
  const isWithout = found.map((name) => !name.startsWith('global.'))

  expect(found.at(0)).toBe('global.anthropic.claude-haiku-4-5@20251001 (exact)')
  expect(found).toContain('global.anthropic.claude-haiku-4-5-20251001-v1:0 (vendor_form)')
  expect(isWithout).toEqual([...isWithout].sort((left, right) => Number(left) - Number(right)))
  expect(found.filter((name) => !name.startsWith('global.'))).toEqual(
    expect.arrayContaining([expect.stringMatching(/^anthropic\.claude-haiku-4-5-20251001-v1:0 \(.*profile_stripped/)]),
  )
})

test('a variant that OpenRouter serves for nothing keeps its suffix, and is one at no other provider', () => {
  expect(modelNames('openrouter', 'openrouter/Meta-Llama/llama-4-maverick:free').isFree).toBe(true)
  expect(names('openrouter', 'meta-llama/llama-4-maverick:free')).toEqual(['meta-llama/llama-4-maverick:free (exact)'])
  expect(modelNames('gateway', 'openrouter/z-ai/glm-5:free').isFree).toBe(true)
  expect(modelNames('openrouter', 'meta-llama/llama-4-maverick').isFree).toBe(false)
  expect(modelNames('together_ai', 'meta-llama/llama-4-maverick:free').isFree).toBe(false)
})

test('any text gives candidates that are longer than the text by at most the parts of a Bedrock id', () => {
  const added = 'anthropic.-20250929-v1:0'.length + 1
  fc.assert(
    fc.property(fc.string({ maxLength: 60 }), fc.string({ maxLength: 120 }), (provider, model) => {
      const { candidates } = modelNames(provider, model)
      return candidates.every(({ name }) => name.length <= model.toLowerCase().length + added)
    }),
  )
})
