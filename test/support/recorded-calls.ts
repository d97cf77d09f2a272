import { Attribution } from '../../internal/sdk/attribution.js'

/** A client whose service takes everything, and the events that it got. */
export function recordedCalls(context?: ConstructorParameters<typeof Attribution>[0]['context']) {
  const sent: Record<string, unknown>[] = []
  const attribution = new Attribution({
    baseUrl: 'http://service.test',
    apiKey: 'ak_test',
    ...(context !== undefined && { context }),
    fetch: async (_, init) => {
      sent.push(
        ...String(init?.body)
          .split('\n')
          .map((line) => JSON.parse(line)),
      )
      return new Response('{"accepted":1,"rejected":0}', { status: 202 })
    },
  })
  return { attribution, sent }
}
