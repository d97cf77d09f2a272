import { expect, test } from 'vitest'
import type { GenaiProvider } from '../../../bench/prices/genai-book.js'
import { litellmRows } from '../../../bench/prices/litellm-map.js'
import { comparedModels } from '../../../bench/prices/names.js'

const GENAI: readonly GenaiProvider[] = [
  { id: 'openai', models: [{ id: 'gpt-a', match: { starts_with: 'gpt-a' }, prices: {} }] },
  { id: 'aws', models: [{ id: 'vendor.m', match: { contains: 'vendor.m' }, prices: {} }] },
  {
    id: 'openrouter',
    models: ['openai/gpt-a', 'somebody/else'].map((id) => ({ id, match: { equals: id }, prices: {} })),
  },
]

test('the names of three books are compared, each once, a name of the map alone only where genai-prices has it', () => {
  const map = litellmRows({
    'gpt-a': { litellm_provider: 'openai' },
    'gpt-a-2026-01-01': { litellm_provider: 'openai' },
    'gpt-z': { litellm_provider: 'openai' },
    'GPT-OURS': { litellm_provider: 'openai' },
    'bedrock/us.vendor.m': { litellm_provider: 'bedrock' },
    'bedrock/eu-west-1/vendor.m': { litellm_provider: 'bedrock' },
    'azure/gpt-a': { litellm_provider: 'azure' },
  })
  const ours = [
    { provider: 'openai', model: 'gpt-ours' },
    { provider: 'openrouter', model: 'somebody/listed' },
    { provider: 'elsewhere', model: 'x' },
  ]

  const models = comparedModels(ours, GENAI, map).map(({ provider, name, genai, litellm }) => [
    `${provider} ${name}`,
    genai?.id,
    litellm !== undefined,
  ])

  expect(models.sort()).toEqual([
    ['bedrock us.vendor.m', 'vendor.m', true],
    ['bedrock vendor.m', 'vendor.m', false],
    ['openai gpt-a', 'gpt-a', true],
    ['openai gpt-a-2026-01-01', 'gpt-a', true],
    ['openai gpt-ours', undefined, true],
    ['openrouter openai/gpt-a', 'openai/gpt-a', false],
    ['openrouter somebody/listed', undefined, false],
  ])
})
