/**
 * Calls of two services that a model can distinguish by their features: one asks a small model for short answers,
 * the other a large one for long ones. Every third call does not state its service.
 */
import type { Ask } from './ask.js'
import { attributeMany } from './attributed.js'

interface Planted {
  readonly service: string
  readonly call: Record<string, unknown>
}

/** @param number the same number is the same call, at the same time */
export function plantedCall(number: number, startMs: number, isStated: boolean): Planted {
  const isChat = number % 5 < 2
  const spread = (number * 7919) % 97
  const service = isChat ? 'chat' : 'search'
  return {
    service,
    call: {
      ingestion_timestamp: new Date(startMs + number * 1_000).toISOString(),
      requested_model: isChat ? 'gpt-4o-mini' : 'gpt-4o',
      input_tokens: isChat ? 200 + spread : 6_000 + 40 * spread,
      output_tokens: isChat ? 40 + (spread % 13) : 900 + 5 * spread,
      ...(isStated && { attributed_service: service }),
    },
  }
}

/** Calls of which stage A resolves two thirds, sent in bulk. */
export async function sendPlanted(ask: Ask, count: number, startMs: number): Promise<void> {
  const calls = Array.from({ length: count }, (_, number) => plantedCall(number, startMs, number % 3 !== 0).call)
  for (let from = 0; from < count; from += 2_000) await attributeMany(ask, calls.slice(from, from + 2_000))
}
