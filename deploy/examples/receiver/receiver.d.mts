import type { IncomingMessage, ServerResponse } from 'node:http'

export function createReceiver(options: {
  readonly secrets: () => readonly string[]
  // biome-ignore lint/suspicious/noExplicitAny: an envelope as OpenAPI describes it
  readonly take: (event: any) => void
  readonly seen?: { has(id: string): boolean; add(id: string): unknown }
}): (request: IncomingMessage, response: ServerResponse) => Promise<void>
