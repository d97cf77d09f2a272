import type { ErrorCode } from './problem-catalogue.js'

/** How to resolve each error code; for the page behind `docs_url`. */
export const REMEDIES: Readonly<Record<ErrorCode, string>> = {
  IDEMPOTENCY_KEY_REQUIRED:
    'Send one Idempotency-Key header with every POST, PATCH and DELETE: a UUID or a ULID that you generate per ' +
    'request and reuse for its retries.',
  MALFORMED_REQUEST: 'Correct the request as detail says. Bodies are JSON in UTF-8; headers must not be repeated.',
  INVALID_FILTER:
    'Use the query parameters, fields and operators that the OpenAPI description names, each as often as it ' +
    'allows. A page has 1 to 200 records.',
  INVALID_CURSOR:
    'Pass next_cursor unchanged, to the same collection with the same filters and sort, within an hour, and ' +
    'within five hours of the as-of time of the first page. Otherwise start again without a cursor.',
  INVALID_CREDENTIALS:
    'Send a live API key in X-API-Key or an access token in Authorization: Bearer, of this tenant and this ' +
    'instance; a sandbox accepts only its own credentials. Get a new access token when the old one has expired.',
  EXPIRED: 'Create or rotate an API key; this one has reached its expiry.',
  STEP_UP_REQUIRED: 'Let the person sign in again: the operation needs a sign-in of the last 15 minutes.',
  INSUFFICIENT_SCOPE:
    'Use a credential with the scope named in detail. No scope implies another, and a key is widened by ' +
    'rotating it. A credential can give only what it holds, except an owner of the tenant.',
  TENANT_MISMATCH: 'The id or cursor is of another tenant. Use the credential of the tenant that it belongs to.',
  DOWNLOAD_URL_INVALID: 'Ask for the job again: its answer holds a fresh result_url, valid for 15 minutes.',
  NOT_FOUND: 'Check path and id. Deleted resources and those past retention are no longer available.',
  METHOD_NOT_ALLOWED: 'Use one of the methods in the Allow header.',
  CONFLICT: 'Read the resource again and decide again: its current state does not allow the operation.',
  IDEMPOTENCY_IN_PROGRESS:
    'Wait for Retry-After and send the same request with the same Idempotency-Key: it is answered with the ' +
    'result of the first.',
  RESIDENCY_BLOCKED: "Use the instance in the tenant's region. No scope and no request option overrides residency.",
  LENGTH_REQUIRED: 'Send the body with a Content-Length, or chunked.',
  NOT_IMPLEMENTED: 'Use a method and a transfer coding that the API description names.',
  PAYLOAD_TOO_LARGE: 'Send less per request; detail gives the limit.',
  UNSUPPORTED_MEDIA_TYPE: 'Send the Content-Type, and at most the Content-Encoding, that the operation describes.',
  RANGE_NOT_SATISFIABLE: 'Request bytes within the file: Content-Range gives its length.',
  VALIDATION_FAILED:
    'Correct the fields that errors names. Amounts are decimal strings, times RFC 3339 in UTC; prompt and ' +
    'completion content is never accepted.',
  IDEMPOTENCY_CONFLICT:
    'Generate a new Idempotency-Key for a different request. A retry must be the same request, byte by byte.',
  NO_SCOPE: 'Name at least one scope when you create a key.',
  WEBHOOK_URL_REJECTED:
    'Register an https address whose host resolves to public addresses only, without user or password in it.',
  RATE_LIMITED:
    'Wait for Retry-After, then retry with jitter, keeping the Idempotency-Key and the event_id. ' +
    'RateLimit-Remaining shows the remaining budget.',
  INTERNAL_ERROR: 'Try again with the same Idempotency-Key. If the error persists, report the trace_id.',
  SERVICE_UNAVAILABLE: 'Wait for Retry-After and try again, with the same Idempotency-Key.',
}
