import { expect, test } from 'vitest'
import { isSameModel, type StatedModel } from '../../../../internal/valuation/names/same-model.js'

const model = (provider: string, requestedModel: string, servedModel = requestedModel): StatedModel => ({
  provider,
  requestedModel,
  servedModel,
})

test.each([
  [model('openai', 'gpt-4o'), model('openai', 'gpt-4o-2024-08-06')],
  [model('openai', 'gpt-4o', 'gpt-4o-2024-08-06'), model('openai', 'openai/gpt-4o')],
  [
    model('aws.bedrock', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'),
    model('bedrock', 'anthropic.claude-sonnet-4-5-20250929-v1:0'),
  ],
  [model('azure', 'my-deployment', 'gpt-4o-2024-08-06'), model('openai', 'gpt-4o')],
])('two spellings are one model', (one, other) => {
  expect([isSameModel(one, other), isSameModel(other, one)]).toEqual([true, true])
})

test.each([
  [model('openai', 'gpt-4o'), model('openai', 'gpt-4o-mini')],
  [model('anthropic', 'claude-sonnet-4-5'), model('anthropic', 'claude-haiku-4-5')],
])('another model is another one', (one, other) => {
  expect([isSameModel(one, other), isSameModel(other, one)]).toEqual([false, false])
})
