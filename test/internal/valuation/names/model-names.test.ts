import fc from 'fast-check'
import { expect, test } from 'vitest'
import { modelNames } from '../../../../internal/valuation/names/model-names.js'

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

test('a gateway model name needs its vendor', () => {
  expect(modelNames('litellm', 'anthropic/claude-opus-5')).toMatchObject({
    provider: 'anthropic',
    isKnownProvider: true,
  })
  expect(modelNames('litellm', 'claude-opus-5')).toMatchObject({ provider: 'litellm', isKnownProvider: false })
})

test('any text gives candidates that are at most one character longer than the text', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 60 }), fc.string({ maxLength: 120 }), (provider, model) => {
      const { candidates } = modelNames(provider, model)
      return candidates.every(({ name }) => name.length <= model.toLowerCase().length + 1)
    }),
  )
})
