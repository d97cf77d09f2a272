/**
 * What gateways say to one another, over core NATS: nothing here is kept, whoever is away has missed it.
 *
 * `gateways.<member>.claims`, heard by that member alone, carries two kinds of message, both binary
 * (`internal/ingest/peers/peer-messages.ts`), on one subject so that they arrive in the order in which they were sent:
 * - claims: a request; the keys that one event-loop turn of the sender wants to take, answered with a verdict each
 * - settlements: no answer; what became of keys that were claimed
 *
 * @param member as in the bucket `members` under the role `gateway`; a token, made by the gateway itself
 */
export const claimsSubject = (member: string): string => `gateways.${member}.claims`

/** Claims of one request at most: some 0.1 MB, and about a millisecond of the owner's time. */
export const CLAIMS_MAX = 4_000

/**
 * The key's owner is decided for without it when it has not answered by then. A dead one is known at once (the broker
 * says that nobody listens); this is for one that stands still or is busy.
 */
export const CLAIM_ANSWER_MS = 300

/**
 * `gateways.<member>.rates`, heard by all gateways: what this one has given from which budgets since it last said, or
 * what is used of them (`internal/auth/budget-exchange.ts`). No answer.
 */
export const ratesSubject = (member: string): string => `gateways.${member}.rates`

/** Those of every gateway. */
export const RATES_OF_ALL = 'gateways.*.rates'

/** How often a gateway says what it has given, where it has given anything. */
export const RATES_EVERY_MS = 100

/**
 * `gateways.<member>.admitted`, heard by that member alone: a request, the 16 bytes of an invocation's id. Its answer has one
 * byte: 1 when the member has admitted the event, 0 when it knows nothing of it.
 */
export const admittedSubject = (member: string): string => `gateways.${member}.admitted`

/** A gateway that has not answered by then has no time to. */
export const ADMITTED_ANSWER_MS = 1_000
