import { unitsOfUsage } from '../usage/billed-units.js'
import { statedOfProviderUsage } from '../usage/provider-usage.js'
import { readUsage } from '../usage/read-usage.js'
import type { InvocationEvent } from './invocation-schema.js'

/**
 * The event with the counters and billed units that it does not state itself, read from the provider's own usage
 * object, which it then no longer has.
 */
export function withProviderUsage(event: InvocationEvent): InvocationEvent {
  const { provider_usage: usage, ...rest } = event
  if (usage == null) return rest
  const model = event.served_model ?? event.requested_model
  const read = readUsage(statedOfProviderUsage(usage), { surface: 'native', provider: event.provider, model })
  const isStated = event.input_tokens != null || event.output_tokens != null
  const { alternative_input_tokens, alternative_output_tokens, assumptions, ...counters } = read
  const more = isStated ? counters : { ...counters, alternative_input_tokens, alternative_output_tokens, assumptions }
  const stated = Object.entries(rest).filter(([, value]) => value != null)
  const isCounted = read.input_tokens !== undefined || read.output_tokens !== undefined
  const known = Object.entries({ ...more, billed_units: unitsOfUsage(usage, isCounted) }).filter(
    ([, value]) => value !== undefined,
  )
  return { ...Object.fromEntries(known), ...Object.fromEntries(stated) } as InvocationEvent
}
