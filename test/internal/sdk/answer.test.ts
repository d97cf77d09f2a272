import { expect, test } from 'vitest'
import { validateInvocation } from '../../../internal/invocations/validate-invocation.js'
import { Answer } from '../../../internal/sdk/answer.js'
import { statedIn } from '../../../internal/sdk/answer-scanner.js'
import { STATED_TO_JAVASCRIPT, STATED_USAGES } from '../../support/stated-usages.js'

const NOW = '2026-11-24T12:00:00Z'

test.each([...STATED_USAGES, ...STATED_TO_JAVASCRIPT])(
  'the service counts the tokens of a usage as it is sent: $name',
  ({ provider, parts, counters }) => {
    const answer = new Answer()
    for (const stated of statedIn(parts)) answer.add(stated)
    const event = {
      event_id: '372e31b3-af26-400a-98ce-da9d74093e8e',
      ingestion_layer: 'application',
      ingestion_timestamp: NOW,
      provider,
      requested_model: 'm',
      provider_usage: answer.facts().provider_usage,
    }
    const read = validateInvocation(event, Date.parse(NOW))

    expect(read).toMatchObject({ ok: true, event: counters })
    expect(read).not.toHaveProperty('event.alternative_input_tokens')
  },
)

test("the id of Groq's request does not replace that of its answer", () => {
  const answer = new Answer()
  for (const stated of statedIn([{ id: 'chatcmpl-1', x_groq: { id: 'req_1', usage: { prompt_tokens: 1 } } }]))
    answer.add(stated)

  expect(answer.facts()).toMatchObject({ response_id: 'chatcmpl-1', provider_usage: { prompt_tokens: 1 } })
})
