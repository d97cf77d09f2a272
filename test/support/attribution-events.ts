/** An invocation for tests of pure rules. A test states only the members of its case. */
import type { Invocation } from '../../internal/invocations/invocation.js'

export function call(stated: Partial<Invocation> = {}): Invocation {
  return {
    eventId: '01890a5d-ac96-774b-bcce-b302099a8057',
    ingestionLayer: 'gateway',
    eventTimeMs: Date.UTC(2026, 10, 3, 12),
    provider: 'openai',
    requestedModel: 'gpt-4o',
    inputTokens: 1000,
    outputTokens: 250,
    ...stated,
  }
}
