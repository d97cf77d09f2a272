import type { Scope } from '../../auth/scopes.js'

/** What a scope grants (spec 5 rule 4). */
export const GRANTS: Readonly<Record<Scope, string>> = {
  'read:attribution': 'Attribution records, coverage, explanations.',
  'read:reporting': 'Dashboards, reports, aggregated metrics.',
  'export:create': 'Create exports and poll their jobs.',
  'webhooks:manage': 'Register, verify, rotate and remove webhook endpoints; replay deliveries.',
  'admin:config': 'API keys, budgets, identities and settings of the tenant.',
}

/** What holds for all operations; the points where the specification leaves a choice, decided. */
export const DESCRIPTION = `Who and what caused the cost (USD), energy (Wh) and carbon (gCO2e) of AI model calls, with evidence.

**Credentials.** Every operation but the public ones (those without \`security\`) takes an API key in \`X-API-Key\` or an
access token in \`Authorization: Bearer\`. No scope implies another. The credential alone says whose data is read or
written: a tenant id anywhere else changes nothing. A sandbox refuses production credentials and the other way round.
Unknown paths (404) and methods (405) are answered without looking at a credential.

**Amounts and times.** Money, energy and carbon are decimal strings, in an event of at most 12 digits before the point and 18
after it; times are RFC 3339 in UTC. Identifiers are opaque.
Unknown fields of a body are ignored, but where its schema is closed (\`additionalProperties: false\`), as those of changes
are: there they are a 422. Unknown members of an answer are to be ignored. Prompt and completion content is refused wherever
it stands.

**Collections** are paged by \`cursor\` and \`limit\` (1 to 200, 50 by default). \`next_cursor\` is absent on the last page. A
cursor is bound to the tenant and the question, and valid for an hour.

**Idempotency.** POST, PATCH and DELETE need an \`Idempotency-Key\`. The same request (method, path and body, byte by byte)
under the same key is answered again with \`Idempotency-Replayed: true\` for 24 hours and has one effect; another body, or the
same bytes as another media type or coding, is IDEMPOTENCY_CONFLICT. A duplicate waits for the first one up to two seconds, then it is IDEMPOTENCY_IN_PROGRESS. Successes
and final refusals are kept; 400, 401, 403, schema failures, 429 and 5xx are not, so that a corrected retry works.

**Errors** are problem details (RFC 9457) with a stable \`error_code\` out of a closed list; its meaning stands at \`docs_url\`.
An id or cursor of another tenant is TENANT_MISMATCH whether it exists or not. Requests that are not HTTP/1.1 are refused
or dropped before they reach the API, without such a body; \`Transfer-Encoding\` is not taken.

**Limits** are counted by tenant, principal and class of operation (\`x-rate-class\`). \`RateLimit-Limit\`,
\`RateLimit-Remaining\` and \`RateLimit-Reset\` (seconds until there is more) are on every answer to a known caller. What is
refused costs as much as what is answered; a replay costs nothing, one of a body of many events or with a coding as much as
one event. After a 429 wait for \`Retry-After\`, and keep both the Idempotency-Key and the event_id. Failed
authentications are limited by address.

**Traces.** A \`traceparent\` (W3C) is taken up; answers to it and all errors carry one with the same trace id.

**Versions.** The major version is part of the path. Within it nothing is removed, renamed, retyped or narrowed; a
successor is served in parallel for at least 12 months, announced by \`Deprecation\` (RFC 9745) and \`Sunset\` (RFC 8594).`
