import type { Tier, Usage } from './vectors.js'

export const TIER_USAGE: Usage = { input: 100_000, output: 10_000 }

/** Calls with a tier as providers return them, most by a dated name, which a book may know less of than its alias. */
export const TIER_CALLS: readonly {
  readonly provider: string
  readonly requestedModel: string
  readonly servedModel?: string
  readonly tier: Tier
}[] = [
  { provider: 'openai', requestedModel: 'gpt-4o', servedModel: 'gpt-4o-2024-11-20', tier: 'priority' },
  { provider: 'openai', requestedModel: 'o4-mini', servedModel: 'o4-mini-2025-04-16', tier: 'flex' },
  { provider: 'openai', requestedModel: 'gpt-5.1', servedModel: 'gpt-5.1-2025-11-13', tier: 'flex' },
  { provider: 'openai', requestedModel: 'gpt-4o', servedModel: 'gpt-4o-2024-08-06', tier: 'batch' },
  { provider: 'openai', requestedModel: 'gpt-5', servedModel: 'gpt-5-2025-08-07', tier: 'batch' },
  {
    provider: 'anthropic',
    requestedModel: 'claude-sonnet-4-5',
    servedModel: 'claude-sonnet-4-5-20250929',
    tier: 'batch',
  },
  { provider: 'gemini', requestedModel: 'gemini-2.5-flash', servedModel: 'gemini-2.5-flash', tier: 'batch' },
  { provider: 'openai', requestedModel: 'o4-mini', tier: 'flex' },
  { provider: 'openai', requestedModel: 'gpt-5', tier: 'flex' },
  { provider: 'openai', requestedModel: 'gpt-5', servedModel: 'gpt-5-2025-08-07', tier: 'flex' },
  { provider: 'openai', requestedModel: 'gpt-5', servedModel: 'gpt-5-2025-08-07', tier: 'priority' },
]
