import type { Scope } from '../../auth/scopes.js'

/** The access that each scope grants. */
export const GRANTS: Readonly<Record<Scope, string>> = {
  'read:attribution': 'Attribution records, coverage, explanations.',
  'read:reporting': 'Dashboards, reports, aggregated metrics.',
  'export:create': 'Create exports and poll their jobs.',
  'webhooks:manage': 'Register, verify, rotate and remove webhook endpoints; replay deliveries.',
  'admin:config': 'API keys, budgets, identities and settings of the tenant.',
}

/** Rules common to all operations, and our decisions where the specification leaves a choice. */
export const DESCRIPTION = `Who and what caused the cost (USD), energy (Wh) and carbon (gCO2e) of AI model calls, with evidence.

**Credentials.** Every operation except the public ones (those without \`security\`) accepts an API key in \`X-API-Key\` or an
access token in \`Authorization: Bearer\`. No scope implies another. The credential alone determines whose data is read or
written: a tenant id elsewhere in the request has no effect. A sandbox refuses production credentials, and production refuses
sandbox credentials. Unknown paths (404) and methods (405) are refused before the credential is checked.

**Amounts and times.** Money, energy and carbon are decimal strings, in an event with at most 12 digits before the point and 18
after it; times are RFC 3339 in UTC. Identifiers are opaque.
An unknown member of a body is a 422 with its pointer. Only the bodies of events, observations, connector health and OAuth,
whose senders may be newer than this instance, are open: there it is ignored. Clients must ignore unknown members of a reply.
Prompt and completion content is refused anywhere in a request.

**Collections** are paged by \`cursor\` and \`limit\` (1 to 200, default 50). \`next_cursor\` is absent on the last page. A
cursor is bound to the tenant and the query, and valid for one hour.

**Idempotency.** POST, PATCH and DELETE require an \`Idempotency-Key\`, except many events in one request, which are known by
their event_id. Repeating a request (same method, path and body, byte by byte) with the same key within 24 hours has no further effect: it gets the original reply with \`Idempotency-Replayed: true\`.
A different body, or the same bytes with another media type or content coding, is IDEMPOTENCY_CONFLICT. A duplicate waits up
to two seconds for the original request, then gets IDEMPOTENCY_IN_PROGRESS. Successes and final refusals are stored; 400, 401,
403, schema failures, 429 and 5xx are not, so that a corrected retry works.

**Errors** are problem details (RFC 9457) with a stable \`error_code\` from a closed list, documented at \`docs_url\`.
An id or cursor of another tenant is TENANT_MISMATCH whether it exists or not. Requests that are not HTTP/1.1 are refused
or dropped before they reach the API, without such a body; \`Transfer-Encoding\` is not supported.

**Limits** apply per tenant, principal and class of operation (\`x-rate-class\`). \`RateLimit-Limit\`, \`RateLimit-Remaining\` and
\`RateLimit-Reset\` (seconds until the remaining budget grows) are on every reply to an authenticated caller. A refused request
costs as much as a served one. A replay is free, except that a replay of a batch of events, or with a content coding, costs as
much as one event. After a 429 wait for \`Retry-After\`, and keep both the Idempotency-Key and the event_id. Failed
authentications are limited per address.

**Traces.** A \`traceparent\` (W3C) is continued; replies to it and all errors carry a traceparent with the same trace id.

**Versions.** The major version is part of the path. Within it nothing is removed, renamed, retyped or narrowed; a
successor is served in parallel for at least 12 months, announced by \`Deprecation\` (RFC 9745) and \`Sunset\` (RFC 8594).`
