/** Fees of the tools that a provider runs for a call: a number of calls times a fee each. */
import type { Invocation } from '../../invocations/invocation.js'
import { type Quantity, quantityOfSteps } from '../../units/quantity.js'
import { BILLED_TOOLS, type BilledTool, type Fees, stepsPerCall } from './rate-sheet.js'

/** The fields of an event that state billed calls of tools. Integers, 0 or more; absent means none. */
export type ToolFacts = Pick<Invocation, 'webSearchCalls' | 'fileSearchCalls' | 'codeExecutionCalls'>

/** The field of an event that counts calls of a tool. */
export const MEMBER_OF_TOOL = {
  web_search: 'webSearchCalls',
  file_search: 'fileSearchCalls',
  code_execution: 'codeExecutionCalls',
} as const satisfies Readonly<Record<BilledTool, keyof ToolFacts>>

/** How often a tool was called. */
export const callsOf = (facts: ToolFacts, tool: BilledTool): number => facts[MEMBER_OF_TOOL[tool]] ?? 0

/** The tools that were called, in the order of the list. */
export const toolsCalled = (facts: ToolFacts): readonly BilledTool[] =>
  BILLED_TOOLS.filter((tool) => callsOf(facts, tool) > 0)

/** Exact. A tool without a fee adds nothing: the caller makes sure that there is one for each. */
export function costOfTools(facts: ToolFacts, fees: Fees): Quantity<'USD'> {
  let steps = 0n
  for (const tool of toolsCalled(facts)) {
    const fee = fees[tool]
    if (fee !== undefined) steps += BigInt(callsOf(facts, tool)) * stepsPerCall(fee)
  }
  return quantityOfSteps<'USD'>(steps)
}
