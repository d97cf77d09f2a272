/**
 * Messages between gateways, over core NATS. Nothing is stored: a gateway that is disconnected misses them.
 *
 * Only that member subscribes to `gateways.<member>.claims`. It carries three kinds of binary message
 * (`internal/ingest/peers/peer-messages.ts`), on one subject so that they arrive in the order in which they were sent:
 * - claims: a request with the keys that the sender wants to claim in one event-loop turn; the reply has a verdict per
 *   key
 * - settlements: no reply; the final state of keys that were claimed
 * - events: a request with the event ids that the sender wants to claim, or claimed without storing them; the reply has
 *   a byte per id
 *
 * @param member its name in the bucket `members` under the role `gateway`; a token that the gateway generates
 */
export const claimsSubject = (member: string): string => `gateways.${member}.claims`

/** Maximum number of claims per request: about 0.1 MB, and about a millisecond of the owner's time. */
export const CLAIMS_MAX = 4_000

/**
 * How long a gateway waits for the key's owner before it decides without it. A dead owner is detected at once (the
 * broker replies "no responders"); this timeout is for one that is stalled or busy.
 */
export const CLAIM_ANSWER_MS = 300

/**
 * How long a gateway waits for the owner of an event's id. Longer than for a key: past it, a repeat may get a 202
 * without `duplicate`, and an attributor has to look for the event in all partitions.
 */
export const EVENT_CLAIM_ANSWER_MS = 1_500

/**
 * Only that member subscribes to `gateways.<member>.greetings`. A request has the name of a gateway that has joined;
 * the reply is empty (`internal/ingest/peers/greetings.ts`).
 */
export const greetingsSubject = (member: string): string => `gateways.${member}.greetings`

/** How long a gateway that starts waits for the reply; nobody replies for a dead one, which shows at once. */
export const GREETING_ANSWER_MS = 1_500

/**
 * All gateways subscribe to `gateways.<member>.rates`: what this one has granted from which rate-limit budgets since
 * its last message, or how much of them is used (`internal/auth/budget-exchange.ts`). No reply.
 */
export const ratesSubject = (member: string): string => `gateways.${member}.rates`

/** The rate messages of all gateways. */
export const RATES_OF_ALL = 'gateways.*.rates'

/** How often a gateway publishes its grants, when there are any. */
export const RATES_EVERY_MS = 100

/**
 * Only that member subscribes to `gateways.<member>.admitted`. A request holds the 16 bytes of an invocation's id. The
 * reply is one byte: 1 when the member has admitted the event, 0 when it does not know it.
 */
export const admittedSubject = (member: string): string => `gateways.${member}.admitted`

/** How long to wait for the reply; a gateway that takes longer is overloaded. */
export const ADMITTED_ANSWER_MS = 1_000
