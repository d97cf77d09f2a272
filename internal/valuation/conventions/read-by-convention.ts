import type { Invocation } from '../../invocations/invocation.js'
import type { AdmittedInvocation } from '../../invocations/invocation-group.js'
import { providerName } from '../../records/provider-names.js'
import { hasTwoReadings, otherReading } from '../cost/usage-readings.js'
import { comparableSender, msOf, type Place, type StoredConvention } from './convention.js'

/** A tenant's conventions, ready for calls. */
export interface UsageConventions {
  /** That of the call's provider before one of any, then the one with the latest start. */
  find(call: AdmittedInvocation): StoredConvention | undefined
}

/** Pure. The choice is the same in every process. */
export function usageConventions(stored: Iterable<StoredConvention>): UsageConventions {
  const sorted = [...stored].sort(inOrder)
  return {
    find({ invocation: { instrumentation, provider, eventTimeMs }, intake = 'api' }) {
      const sender = comparableSender(instrumentation ?? intake)
      return sorted.find(
        (one) =>
          comparableSender(one.sender) === sender &&
          eventTimeMs >= msOf(one.valid_from) &&
          (one.valid_to === null || eventTimeMs < msOf(one.valid_to)) &&
          (one.provider === null || providerName(one.provider) === providerName(provider)),
      )
    },
  }
}

const inOrder = (one: StoredConvention, other: StoredConvention): number =>
  Number(one.provider === null) - Number(other.provider === null) ||
  msOf(other.valid_from) - msOf(one.valid_from) ||
  (one.id < other.id ? -1 : 1)

/** An event as a convention reads it, with the reading that does not hold as the other one. */
export interface ReadByConvention {
  readonly invocation: Invocation
  readonly convention: StoredConvention
}

/** @returns undefined for an event with one reading, and where no convention decides between the two */
export function readByConvention(
  call: AdmittedInvocation,
  conventions: UsageConventions | undefined,
): ReadByConvention | undefined {
  const { invocation } = call
  if (conventions === undefined || !hasTwoReadings(invocation)) return undefined
  const convention = conventions.find(call)
  const counts = convention && countsBy(convention, invocation)
  if (convention === undefined || counts === undefined) return undefined
  const { usageBasis } = invocation
  return {
    invocation: { ...invocation, ...counts, usageBasis: usageBasis === 'ambiguous' ? undefined : usageBasis },
    convention,
  }
}

/** Tokens that its tools read may be in the input or beside it, whatever the cache is. */
const TOOL_USE_UNKNOWN = 'tool_use_apart_by_size'

function countsBy({ cache, reasoning }: StoredConvention, one: Invocation) {
  const other = otherReading(one)
  const [input, otherInput] = [one.inputTokens ?? 0, other.inputTokens ?? 0]
  const [output, otherOutput] = [one.outputTokens ?? 0, other.outputTokens ?? 0]
  // Of one sum split in two ways, neither is the whole of the other.
  if ((input - otherInput) * (output - otherOutput) < 0) return undefined
  if (input !== otherInput && one.assumptions?.split(',').includes(TOOL_USE_UNKNOWN)) return undefined
  const inputs = chosen(input, otherInput, cache)
  const outputs = chosen(output, otherOutput, reasoning)
  if (inputs === undefined || outputs === undefined) return undefined
  return {
    inputTokens: inputs[0],
    outputTokens: outputs[0],
    alternativeInputTokens: inputs[1],
    alternativeOutputTokens: outputs[1],
  }
}

/** The count that holds, and the one that does not. A whole that excludes its parts is the larger one with them. */
function chosen(one: number, other: number, place: Place | null): readonly [number, number] | undefined {
  if (one === other) return [one, other]
  if (place === null) return undefined
  return one < other === (place === 'inside') ? [one, other] : [other, one]
}
