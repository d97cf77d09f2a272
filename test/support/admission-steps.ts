/** Drawn histories of requests that share keys and events, with kills between them. */
import fc from 'fast-check'

export const KEYS = 4
export const EVENTS = 4

/** A request, by its number among the keys, the events, and the bodies of one event. */
export interface Request {
  readonly key: number
  readonly event: number
  readonly variant: number
}

export type Step =
  | { readonly kind: 'send'; readonly requests: readonly Request[] }
  | { readonly kind: 'kill'; readonly role: string; readonly meanwhile: readonly Request[] }

const request: fc.Arbitrary<Request> = fc.record({
  key: fc.nat(KEYS - 1),
  event: fc.nat(EVENTS - 1),
  variant: fc.nat(1),
})
const requests = fc.array(request, { minLength: 1, maxLength: 12 })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('send' as const), requests }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('kill' as const),
      role: fc.constantFrom('gateway', 'nats', 'attributor', 'store'),
      meanwhile: requests,
    }),
  },
)

export const histories: fc.Arbitrary<Step[]> = fc.array(step, { minLength: 3, maxLength: 12 })
