/**
 * Written from the schemas of `/openapi.json` by `test/contract/description.test.ts` (ATTRIBUTION_RENEW_BASELINES=1): do not
 * change it by hand.
 */

/** Problem details (RFC 9457). */
export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  /** Path of the request. */
  readonly instance: string
  readonly error_code: ErrorCode
  readonly trace_id: string
  /** Tenant of the caller; null before authentication. */
  readonly tenant_id: string | null
  readonly docs_url: string
  /** Errors in the body or the query. */
  readonly errors?: readonly FieldError[] | undefined
}

export type ErrorCode = 'IDEMPOTENCY_KEY_REQUIRED' | 'MALFORMED_REQUEST' | 'INVALID_FILTER' | 'INVALID_CURSOR' | 'INVALID_CREDENTIALS' | 'EXPIRED' | 'STEP_UP_REQUIRED' | 'INSUFFICIENT_SCOPE' | 'TENANT_MISMATCH' | 'DOWNLOAD_URL_INVALID' | 'NOT_FOUND' | 'METHOD_NOT_ALLOWED' | 'CONFLICT' | 'IDEMPOTENCY_IN_PROGRESS' | 'RESIDENCY_BLOCKED' | 'LENGTH_REQUIRED' | 'PAYLOAD_TOO_LARGE' | 'UNSUPPORTED_MEDIA_TYPE' | 'RANGE_NOT_SATISFIABLE' | 'VALIDATION_FAILED' | 'IDEMPOTENCY_CONFLICT' | 'NO_SCOPE' | 'WEBHOOK_URL_REJECTED' | 'RATE_LIMITED' | 'INTERNAL_ERROR' | 'SERVICE_UNAVAILABLE'

export interface FieldError {
  /** JSON Pointer (RFC 6901) into the body, or into the query read as an object. */
  readonly pointer: string
  /** The rule that was broken; never the value itself. */
  readonly detail: string
}

export interface Dependency {
  readonly name: string
  readonly status: 'up' | 'down'
  readonly since: string
}

/** Invocation event, schema v1. */
export interface InvocationEvent {
  /** UUID that the producer assigns to the event. Events are deduplicated by it: one event_id is admitted once in seven days. Retries keep it. */
  readonly event_id: string
  /** Layer that captured the call, such as `application`, `gateway` or `proxy`. With service_tier and trace_id it determines the record's pathway_category. */
  readonly ingestion_layer: string
  /** Time of the call: RFC 3339 in UTC, from 1970 to at most 24 hours after arrival. Prices, report periods and freshness refer to it. */
  readonly ingestion_timestamp: string
  /** Provider that sold the call, such as `openai` or `anthropic`. */
  readonly provider: string
  /** Model that the caller requested, as named in the request. */
  readonly requested_model: string
  /** Model that answered, as named in the response. Default: requested_model. */
  readonly served_model?: string | null | undefined
  /** Number of all input tokens, including those read from and written to the provider's prompt cache, audio and image tokens. Absent means unknown, not zero. */
  readonly input_tokens?: number | null | undefined
  /** Number of all output tokens, including reasoning, audio and image tokens. Absent means unknown, not zero. */
  readonly output_tokens?: number | null | undefined
  /** Number of input tokens read from the provider's prompt cache; part of input_tokens. */
  readonly cached_input_tokens?: number | null | undefined
  /** Number of all input tokens written to the provider's prompt cache, for any lifetime; part of input_tokens. Default: the sum of cache_write_5m_tokens and cache_write_1h_tokens, if one of them is stated. */
  readonly cache_write_tokens?: number | null | undefined
  /** Lifetime of the prompt-cache entry that this call wrote, in seconds. It selects the price of the cache_write_tokens that the two counters by lifetime do not contain. */
  readonly cache_write_ttl_seconds?: number | null | undefined
  /** Number of input tokens written to the prompt cache for five minutes, such as `cache_creation.ephemeral_5m_input_tokens` of Anthropic; part of cache_write_tokens. */
  readonly cache_write_5m_tokens?: number | null | undefined
  /** Number of input tokens written to the prompt cache for one hour, such as `cache_creation.ephemeral_1h_input_tokens` of Anthropic; part of cache_write_tokens. */
  readonly cache_write_1h_tokens?: number | null | undefined
  /** Number of reasoning (thinking) tokens; part of output_tokens. */
  readonly reasoning_tokens?: number | null | undefined
  /** Number of audio input tokens; part of input_tokens. */
  readonly audio_input_tokens?: number | null | undefined
  /** Number of audio output tokens; part of output_tokens. */
  readonly audio_output_tokens?: number | null | undefined
  /** Number of image input tokens; part of input_tokens. */
  readonly image_input_tokens?: number | null | undefined
  /** Number of image output tokens; part of output_tokens. */
  readonly image_output_tokens?: number | null | undefined
  /** Number of web searches that the provider ran for this call and charges for, such as `server_tool_use.web_search_requests` of Anthropic. Without a fee for them, the call is unpriced. */
  readonly web_search_calls?: number | null | undefined
  /** Number of searches of stored files that the provider ran for this call and charges for. Without a fee for them, the call is unpriced. */
  readonly file_search_calls?: number | null | undefined
  /** Number of code executions that the provider ran for this call and charges for each. Without a fee for them, the call is unpriced. */
  readonly code_execution_calls?: number | null | undefined
  /** Service tier that served the call, as the provider's response states it, not the one that was requested; it selects the price. `default` is the same as `standard`. */
  readonly service_tier?: 'standard' | 'batch' | 'flex' | 'priority' | 'default' | 'scale' | 'priority_on_demand' | 'flex_discount' | null | undefined
  /** True if the caller's own response cache answered and nothing was bought from the provider: the cost is then 0. */
  readonly served_from_cache?: boolean | null | undefined
  /** Cloud region in which the call was made, as the provider names it. If it differs from the tenant's residency region, the record's export_eligibility is residency_restricted. */
  readonly region?: string | null | undefined
  /** Cost of the call in USD as the producer computed it: a decimal string. It takes precedence over price overrides and the price book. */
  readonly estimated_cost_usd?: string | null | undefined
  /** True if nobody is billed for the call, such as one that a subscription covers: the cost of its record is then 0, and its export_eligibility notional. estimated_cost_usd is kept and shown beside it. */
  readonly is_cost_notional?: boolean | null | undefined
  /** Duration of the call in milliseconds. */
  readonly latency_ms?: number | null | undefined
  /** The provider's id of the response, such as `chatcmpl-...` or `msg_...`. A call that two sources show with the same provider and response_id is one record (setting `merge_seen_calls`). */
  readonly response_id?: string | null | undefined
  /** How well the token counts are known: `reported` by the provider, `partial` (as of an interrupted stream), `estimated` by the producer, or `unknown`. Default: `unknown` if neither input_tokens nor output_tokens is stated, else `partial` for a cancelled call and `reported` for any other. */
  readonly usage_basis?: 'reported' | 'partial' | 'estimated' | 'unknown' | null | undefined
  /** How the call ended: `success`, `error`, or `cancelled` before its end, as an interrupted stream. Absent means unknown. */
  readonly outcome?: 'success' | 'error' | 'cancelled' | null | undefined
  /** Identity that made the call, such as a user or a service account. Records keep only a keyed hash of it. */
  readonly attributed_identity?: string | null | undefined
  /** Service that made the call. If the directory knows it, the call is attributed to it. */
  readonly attributed_service?: string | null | undefined
  /** Id of the trace or agent workflow that the call belongs to; it correlates the calls of one workflow. */
  readonly trace_id?: string | null | undefined
  /** Id of the span of this call within trace_id. A call that two sources show with the same trace_id and span_id is one record. */
  readonly span_id?: string | null | undefined
  /** Id of the span within trace_id that made the call. */
  readonly parent_span_id?: string | null | undefined
  /** Producer's confidence in attributed_identity and attributed_service, a number from 0 to 0.95. It caps the record's confidence. */
  readonly attribution_confidence?: number | null | undefined
  /** At most 16 key-value pairs that describe the call, for example `team` or `environment`. Keys have at most 64 bytes, values at most 256; keys under which prompts or completions travel are refused. */
  readonly tags?: { readonly [name: string]: string } | null | undefined
  /** Kubernetes namespace of the calling workload. */
  readonly k8s_namespace?: string | null | undefined
  /** Kubernetes workload (such as the Deployment or Job) that made the call. */
  readonly k8s_workload?: string | null | undefined
  /** Workload identity of the caller, such as its SPIFFE ID. */
  readonly workload_identity?: string | null | undefined
  /** Energy that the caller measured for the call, in watt-hours: a decimal string. Absent: the service models it. */
  readonly energy_wh?: string | null | undefined
  /** Emissions that the caller measured for the call, in grams of CO2 equivalent: a decimal string. Absent: the service models them. */
  readonly carbon_gco2e?: string | null | undefined
}

export interface AcceptedEvent {
  readonly invocation_id: string
  readonly event_id: string
  readonly status: 'queued'
  /** Whether the event had been accepted before, under any key. */
  readonly duplicate: boolean
}

/** One result per event, in the order of the request. */
export interface BulkResult {
  readonly accepted: number
  readonly rejected: number
  readonly results: readonly EventResult[]
}

export interface EventResult {
  /** Zero-based position of the event in the request. */
  readonly index: number
  readonly event_id?: string | undefined
  readonly invocation_id?: string | undefined
  readonly duplicate?: boolean | undefined
  /** Why it was rejected. */
  readonly error_code?: ErrorCode | undefined
  /** The first errors; omitted once the errors of earlier events exceed one mebibyte. */
  readonly errors?: readonly FieldError[] | undefined
}

export interface ObservationEvent {
  readonly event_id: string
  readonly type: string
  readonly occurred_at: string
  readonly source: string
  readonly trace_id?: string | null | undefined
  /** At most 8 KiB as JSON, 5 levels deep and 64 keys in all. Keys have at most 64 bytes, texts at most 256; neither may hold control characters, and no key may be one under which prompts or completions travel. */
  readonly data: { readonly [name: string]: unknown }
}

export interface AcceptedObservation {
  readonly event_id: string
  readonly status: 'queued'
  /** Where to send it instead, if it looks like a model call: of this, no record comes. */
  readonly hint?: string | undefined
}

export interface InvocationFate {
  readonly invocation_id: string
  readonly status: 'queued' | 'attributed' | 'quarantined'
  /** With `attributed`: the record that counts the call. Of a call that two sources showed, that of one of them. */
  readonly attribution_id?: string | undefined
  /** With `quarantined`: which stage could not work it off. */
  readonly stage?: string | undefined
  /** With `quarantined`. */
  readonly reason?: string | undefined
}

export interface TokenResponse {
  /** A signed JWT (RFC 9068). */
  readonly access_token: string
  readonly token_type: 'Bearer'
  /** Seconds. */
  readonly expires_in: number
  /** The granted scopes, which may be fewer than requested. */
  readonly scope: string
  /** In the code flow only; valid for one refresh. */
  readonly refresh_token?: string | undefined
}

export interface ApiKey {
  readonly id: string
  readonly name: string
  readonly scopes: ReadonlyArray<'read:attribution' | 'read:reporting' | 'export:create' | 'webhooks:manage' | 'admin:config'>
  /** Null: the key does not expire. */
  readonly expires_at: string | null
  readonly created_at: string
  /** The last characters of the secret. */
  readonly last_four: string
  readonly status: 'active' | 'expired' | 'revoked'
  /** Accurate to within one or two minutes. Null: never used. */
  readonly last_used_at: string | null
  /** Layers whose events the key may ingest. Null: all. */
  readonly ingestion_layers: readonly string[] | null
  /** Whether costs that the key states count. */
  readonly trusts_cost: boolean
  /** Whether a gateway holds the key, whose word on who called counts on the intake port and for mapping rules; else it is a claim. */
  readonly is_gateway: boolean
}

export interface Page {
  /** Absent on the last page. */
  readonly next_cursor?: string | undefined
  readonly limit: number
  readonly has_more: boolean
}

export interface NewApiKey {
  readonly name: string
  readonly scopes: ReadonlyArray<'read:attribution' | 'read:reporting' | 'export:create' | 'webhooks:manage' | 'admin:config'>
  /** Within the tenant's maximum key lifetime. Default: as late as that allows. */
  readonly expires_at?: string | null | undefined
  /** Layers whose events the key may ingest. An empty list: none. Default: all. */
  readonly ingestion_layers?: readonly string[] | null | undefined
  /** Whether costs that the key states count; else they are shown beside the price. Default: true. */
  readonly trusts_cost?: boolean | null | undefined
  /** Whether a gateway holds the key, whose word on who called counts on the intake port and for mapping rules; else it is a claim. Default: false. */
  readonly is_gateway?: boolean | null | undefined
}

export interface CreatedApiKey {
  readonly id: string
  readonly name: string
  readonly scopes: ReadonlyArray<'read:attribution' | 'read:reporting' | 'export:create' | 'webhooks:manage' | 'admin:config'>
  /** Null: the key does not expire. */
  readonly expires_at: string | null
  readonly created_at: string
  /** The last characters of the secret. */
  readonly last_four: string
  readonly status: 'active' | 'expired' | 'revoked'
  /** Accurate to within one or two minutes. Null: never used. */
  readonly last_used_at: string | null
  /** Layers whose events the key may ingest. Null: all. */
  readonly ingestion_layers: readonly string[] | null
  /** Whether costs that the key states count. */
  readonly trusts_cost: boolean
  /** Whether a gateway holds the key, whose word on who called counts on the intake port and for mapping rules; else it is a claim. */
  readonly is_gateway: boolean
  /** The value for X-API-Key. Shown only once. */
  readonly secret: string
}

export interface ApiKeyRotation {
  /** Default: those of the old key. */
  readonly scopes?: ReadonlyArray<'read:attribution' | 'read:reporting' | 'export:create' | 'webhooks:manage' | 'admin:config'> | null | undefined
  /** Default: that of the old key. */
  readonly expires_at?: string | null | undefined
  /** Default: that of the old key. */
  readonly trusts_cost?: boolean | null | undefined
  /** Default: that of the old key. */
  readonly is_gateway?: boolean | null | undefined
  /** How long the old key stays valid, in seconds. Default: it is revoked at once. */
  readonly overlap_seconds?: number | null | undefined
}

export interface SqlUser {
  /** Also the user name for SQL. */
  readonly id: string
  readonly name: string
  readonly expires_at: string
  readonly created_at: string
  /** The last characters of the password. */
  readonly last_four: string
  readonly status: 'active' | 'expired' | 'revoked'
}

export interface NewSqlUser {
  readonly name: string
  /** Within the tenant's maximum lifetime of API keys. Default: as late as that allows. */
  readonly expires_at?: string | null | undefined
}

export interface CreatedSqlUser {
  /** Also the user name for SQL. */
  readonly id: string
  readonly name: string
  readonly expires_at: string
  readonly created_at: string
  /** The last characters of the password. */
  readonly last_four: string
  readonly status: 'active' | 'expired' | 'revoked'
  /** The password for SQL. Shown only once. */
  readonly password: string
}

export interface Client {
  /** The `client_id`. */
  readonly id: string
  readonly name: string
  readonly type: 'confidential' | 'public'
  /** The scopes that tokens of this client may have. */
  readonly scopes: ReadonlyArray<'read:attribution' | 'read:reporting' | 'export:create' | 'webhooks:manage' | 'admin:config'>
  readonly grant_types: ReadonlyArray<'client_credentials' | 'authorization_code' | 'refresh_token'>
  readonly redirect_uris: readonly string[]
  readonly status: 'active' | 'disabled'
  /** Whether costs that its tokens state count. */
  readonly trusts_cost: boolean
  /** Whether it is a gateway, whose word on who called counts on the intake port and for mapping rules; else it is a claim. */
  readonly is_gateway: boolean
  readonly created_at: string
  /** The last characters of the secret. Null: it has none. */
  readonly last_four: string | null
}

export interface NewClient {
  readonly name: string
  readonly scopes: ReadonlyArray<'read:attribution' | 'read:reporting' | 'export:create' | 'webhooks:manage' | 'admin:config'>
  /** `public`: an app in a browser or on a device, which has no secret and signs people in by the code flow with PKCE. Default: `confidential`. */
  readonly type?: 'confidential' | 'public' | null | undefined
  /** Default: `client_credentials`, or `authorization_code` for a public client, which cannot have the former. */
  readonly grant_types?: ReadonlyArray<'client_credentials' | 'authorization_code' | 'refresh_token'> | null | undefined
  /** Addresses to which people may be redirected, for `authorization_code`: https, http to a loopback address on any port, and for a public client a private-use scheme (RFC 8252), such as `com.example.app:/callback`. Otherwise compared character by character. */
  readonly redirect_uris?: readonly string[] | null | undefined
  /** Whether costs that its tokens state count; else they are shown beside the price. Default: true. */
  readonly trusts_cost?: boolean | null | undefined
  /** Whether it is a gateway, whose word on who called counts on the intake port and for mapping rules; else it is a claim. It applies to the client's own tokens. Default: false. */
  readonly is_gateway?: boolean | null | undefined
}

export interface CreatedClient {
  /** The `client_id`. */
  readonly id: string
  readonly name: string
  readonly type: 'confidential' | 'public'
  /** The scopes that tokens of this client may have. */
  readonly scopes: ReadonlyArray<'read:attribution' | 'read:reporting' | 'export:create' | 'webhooks:manage' | 'admin:config'>
  readonly grant_types: ReadonlyArray<'client_credentials' | 'authorization_code' | 'refresh_token'>
  readonly redirect_uris: readonly string[]
  readonly status: 'active' | 'disabled'
  /** Whether costs that its tokens state count. */
  readonly trusts_cost: boolean
  /** Whether it is a gateway, whose word on who called counts on the intake port and for mapping rules; else it is a claim. */
  readonly is_gateway: boolean
  readonly created_at: string
  /** The last characters of the secret. Null: it has none. */
  readonly last_four: string | null
  /** Shown only once. Absent for a public client. */
  readonly client_secret?: string | undefined
}

export interface ClientPatch {
  readonly name?: string | undefined
  /** Only scopes that the client already has. */
  readonly scopes?: ReadonlyArray<'read:attribution' | 'read:reporting' | 'export:create' | 'webhooks:manage' | 'admin:config'> | undefined
  readonly grant_types?: ReadonlyArray<'client_credentials' | 'authorization_code' | 'refresh_token'> | undefined
  readonly redirect_uris?: readonly string[] | undefined
  readonly status?: 'active' | 'disabled' | undefined
  readonly trusts_cost?: boolean | undefined
  readonly is_gateway?: boolean | undefined
}

export interface ClientRotation {
  /** Default: unchanged. */
  readonly scopes?: ReadonlyArray<'read:attribution' | 'read:reporting' | 'export:create' | 'webhooks:manage' | 'admin:config'> | null | undefined
}

export interface ClientWithSecret {
  /** The `client_id`. */
  readonly id: string
  readonly name: string
  readonly type: 'confidential' | 'public'
  /** The scopes that tokens of this client may have. */
  readonly scopes: ReadonlyArray<'read:attribution' | 'read:reporting' | 'export:create' | 'webhooks:manage' | 'admin:config'>
  readonly grant_types: ReadonlyArray<'client_credentials' | 'authorization_code' | 'refresh_token'>
  readonly redirect_uris: readonly string[]
  readonly status: 'active' | 'disabled'
  /** Whether costs that its tokens state count. */
  readonly trusts_cost: boolean
  /** Whether it is a gateway, whose word on who called counts on the intake port and for mapping rules; else it is a claim. */
  readonly is_gateway: boolean
  readonly created_at: string
  /** The last characters of the secret. Null: it has none. */
  readonly last_four: string | null
  /** Shown only once. */
  readonly client_secret: string
}

export interface User {
  readonly id: string
  readonly username: string
  /** The scopes that tokens on this person's behalf may have. */
  readonly scopes: ReadonlyArray<'read:attribution' | 'read:reporting' | 'export:create' | 'webhooks:manage' | 'admin:config'>
  readonly status: 'active' | 'disabled'
  /** Owners may give credentials scopes that they do not hold themselves. A tenant keeps its last owner. */
  readonly owner: boolean
  /** By password, or at the company's identity provider. */
  readonly signs_in_by: 'password' | 'identity_provider'
  /** Whether the person has set up a second factor. */
  readonly second_factor: boolean
  readonly created_at: string
}

export interface NewUser {
  /** Unique within the tenant. Stored in lower case. */
  readonly username: string
  readonly scopes: ReadonlyArray<'read:attribution' | 'read:reporting' | 'export:create' | 'webhooks:manage' | 'admin:config'>
  /** Not a common one. Default: a generated one. */
  readonly password?: string | null | undefined
  /** Whether the person is an owner of the tenant. Needs `admin:config`. Only an owner may set it; where there is none yet, any credential with all scopes may. Default: true for the first administrator that such a credential creates, else false. */
  readonly owner?: boolean | null | undefined
}

export interface CreatedUser {
  readonly id: string
  readonly username: string
  /** The scopes that tokens on this person's behalf may have. */
  readonly scopes: ReadonlyArray<'read:attribution' | 'read:reporting' | 'export:create' | 'webhooks:manage' | 'admin:config'>
  readonly status: 'active' | 'disabled'
  /** Owners may give credentials scopes that they do not hold themselves. A tenant keeps its last owner. */
  readonly owner: boolean
  /** By password, or at the company's identity provider. */
  readonly signs_in_by: 'password' | 'identity_provider'
  /** Whether the person has set up a second factor. */
  readonly second_factor: boolean
  readonly created_at: string
  /** Only a generated password. Shown only once. */
  readonly password?: string | undefined
}

export interface UserPatch {
  readonly scopes?: ReadonlyArray<'read:attribution' | 'read:reporting' | 'export:create' | 'webhooks:manage' | 'admin:config'> | undefined
  readonly status?: 'active' | 'disabled' | undefined
  /** Only an owner may change it. */
  readonly owner?: boolean | undefined
  /** A new password; it ends all sign-ins of the person. */
  readonly password?: string | undefined
  /** Removes the second factor of a person who has lost it, and ends all their sign-ins. Where the tenant requires one, they set up another at their next sign-in. */
  readonly second_factor?: false | undefined
}

export interface Settings {
  readonly tenant_id: string
  readonly name: string
  readonly created_at: string
  /** Owner of a call whose owner is not in the directory: the identity as given, or nobody. */
  readonly owner_fallback: 'identity' | 'unassigned'
  /** How a stated service counts that is not in the directory: as declared only (confidence 0.70, not for chargeback), or as resolved. `auto`: as declared if the directory has services. Names are compared trimmed, in NFC and without case. */
  readonly undeclared_services: 'auto' | 'declared' | 'resolved'
  /** Whether `undeclared_services` is declared; for clients that do not know that setting. */
  readonly require_directory: boolean
  /** Whether trained inference may attribute calls that the facts leave open. */
  readonly stage_b_enabled: boolean
  /** Whether a call that two sources show (another credential or another intake) is one record: events with the same provider and `response_id`, or the same `trace_id` and `span_id`. Applies to calls that arrive after the change. */
  readonly merge_seen_calls: boolean
  /** Whether people who sign in by password also need a code from an authenticator app (TOTP, RFC 6238). Those without one set it up at their next sign-in. */
  readonly require_second_factor: boolean
  /** Region in which the tenant's data must stay. Null: any. */
  readonly residency_region: string | null
  /** The tenant's own data about its electricity. Null: the defaults of the method. */
  readonly grid: {
    readonly zone: string | null
    readonly factors: ReadonlyArray<{
      readonly zone: string
      readonly gco2e_per_kwh: string
      readonly source: string
      readonly from: string | null
      readonly to: string | null
    }>
  } | null
  /** A stated cost of more than this many times the price, or of less than this part of it, is `implausible_cost`: it counts, but not for chargeback until the record is overridden. Applies to calls that are attributed after the change. */
  readonly stated_cost_factor: number
  /** A stated cost of one call above this is `implausible_cost` too. */
  readonly stated_cost_ceiling_usd: string
  readonly api_key_max_lifetime_days: number
  /** Retention of call records, by the day (UTC) of the call. Older ones are deleted within an hour, and reports no longer include them. */
  readonly retention_days: number
  /** Tag keys that are dimensions. Records of calls that were attributed before `declared_at` have the value `(not declared)`. Of each key 10000 values are kept apart; further ones become `(other values)`. */
  readonly dimensions: ReadonlyArray<{
    readonly key: string
    readonly personal: boolean
    readonly declared_at: string
  }>
  /** Time zone of the periods of budgets that state none: a name from the tz database. */
  readonly time_zone: string
  /** The limits in force, whether or not the tenant has set them. */
  readonly rate_limits: {
    readonly ingest: {
      readonly per_second: number
      readonly burst: number
    }
    readonly read: {
      readonly per_second: number
      readonly burst: number
    }
    readonly report: {
      readonly per_second: number
      readonly burst: number
    }
    readonly control: {
      readonly per_second: number
      readonly burst: number
    }
    readonly token: {
      readonly per_second: number
      readonly burst: number
    }
  }
  /** Reports, adoption and exports show no group of fewer people: it is folded into its parent. Applies to the next report and export. */
  readonly min_cohort: number
  /** What a credential may give to API keys, clients, connectors and people. `held`: only scopes, layers and trust in stated costs that it holds itself, except for an owner. `any`: everything. */
  readonly delegation: 'held' | 'any'
  /** The OpenID provider at which people sign in. Set by the operator (`attribution identity-provider set`). Null: none. */
  readonly identity_provider: {
    /** As the sign-in page names it. */
    readonly name: string
    readonly issuer: string
    /** Whether nobody signs in by password any more. */
    readonly only: boolean
  } | null
  /** Changes that destroy data, or let it leave its region. They wait 24 hours and can be cancelled. */
  readonly pending_changes: ReadonlyArray<{
    readonly setting: 'retention_days' | 'residency_region'
    readonly to: number | string | null
    /** Id of the credential that asked for it. */
    readonly requested_by: string
    readonly requested_at: string
    readonly takes_effect_at: string
  }>
  /** The same as `min_cohort`. */
  readonly k: number
}

export interface SettingsPatch {
  readonly name?: string | undefined
  readonly owner_fallback?: 'identity' | 'unassigned' | undefined
  readonly undeclared_services?: 'auto' | 'declared' | 'resolved' | undefined
  /** True sets `undeclared_services` to declared, false to resolved, unless that is stated too. */
  readonly require_directory?: boolean | undefined
  readonly stage_b_enabled?: boolean | undefined
  readonly merge_seen_calls?: boolean | undefined
  readonly require_second_factor?: boolean | undefined
  readonly residency_region?: string | null | undefined
  readonly grid?: GridPatch | null | undefined
  readonly stated_cost_factor?: number | undefined
  readonly stated_cost_ceiling_usd?: string | undefined
  readonly api_key_max_lifetime_days?: number | undefined
  readonly retention_days?: number | undefined
  /** Tag keys, at most 8, whose values become members, filters and groups of records, reports and exports: the whole list, which replaces the one before. Applies to calls that are attributed after the change. A removed key keeps its values, and shows them again when it is declared again. */
  readonly dimensions?: ReadonlyArray<{
    /** Key of the tag in events, at most 64 bytes. Events may spell it in other case. */
    readonly key: string
    /** Whether its values name people. They then count as people in reports, which show no group of fewer than five. */
    readonly personal?: boolean | undefined
  }> | undefined
  readonly time_zone?: string | undefined
  readonly min_cohort?: number | undefined
  /** Only an owner may set `any`. */
  readonly delegation?: 'held' | 'any' | undefined
  /** By class of operation, each at most the limit set by the operator. Default of `burst`: the default of the class. Null restores the operator's limit, or else the instance's. */
  readonly rate_limits?: {
    readonly ingest?: {
      readonly per_second: number
      readonly burst?: number | undefined
    } | null | undefined
    readonly read?: {
      readonly per_second: number
      readonly burst?: number | undefined
    } | null | undefined
    readonly report?: {
      readonly per_second: number
      readonly burst?: number | undefined
    } | null | undefined
    readonly control?: {
      readonly per_second: number
      readonly burst?: number | undefined
    } | null | undefined
    readonly token?: {
      readonly per_second: number
      readonly burst?: number | undefined
    } | null | undefined
  } | null | undefined
}

/** The zone of calls that state no region, and emissions per kWh by zone and period; of several that apply, the one with the latest `from`. Applies to calls that are attributed after the change. In an unknown zone, carbon stays unknown. */
export interface GridPatch {
  readonly zone?: string | null | undefined
  readonly factors?: ReadonlyArray<{
    readonly zone: string
    readonly gco2e_per_kwh: string
    /** Source of the figure. Shown in the explanation. */
    readonly source: string
    readonly from?: string | null | undefined
    /** The end of the period, exclusive. */
    readonly to?: string | null | undefined
  }> | undefined
}

export interface Connector {
  readonly id: string
  readonly name: string
  readonly scopes: ReadonlyArray<'read:attribution' | 'read:reporting' | 'export:create' | 'webhooks:manage' | 'admin:config'>
  readonly source_systems: readonly string[]
  readonly residency_lane: string | null
  /** Whether costs that it states count. */
  readonly trusts_cost: boolean
  readonly status: 'active' | 'disabled'
  readonly client_id: string
  /** The last characters of the secret. */
  readonly last_four: string
  readonly health: ConnectorHealth
  readonly created_at: string
}

export interface ConnectorHealth {
  /** As last reported; unknown without a report for a day. */
  readonly status: 'unknown' | 'healthy' | 'degraded' | 'failing'
  readonly since: string
  readonly reason: string | null
  /** Time of the last report. Null: none yet. */
  readonly reported_at: string | null
}

export interface NewConnector {
  readonly name: string
  readonly scopes: ReadonlyArray<'read:attribution' | 'read:reporting' | 'export:create' | 'webhooks:manage'>
  /** Values of `ingestion_layer` whose events the connector may send and whose records it may read. */
  readonly source_systems: readonly string[]
  /** Region to which the data that the connector reads is transferred. Default: the tenant's own region. */
  readonly residency_lane?: string | null | undefined
  /** Whether costs that it states count; else they are shown beside the price. Default: true. */
  readonly trusts_cost?: boolean | null | undefined
}

export interface ConnectorWithSecret {
  readonly id: string
  readonly name: string
  readonly scopes: ReadonlyArray<'read:attribution' | 'read:reporting' | 'export:create' | 'webhooks:manage' | 'admin:config'>
  readonly source_systems: readonly string[]
  readonly residency_lane: string | null
  /** Whether costs that it states count. */
  readonly trusts_cost: boolean
  readonly status: 'active' | 'disabled'
  readonly client_id: string
  /** The last characters of the secret. */
  readonly last_four: string
  readonly health: ConnectorHealth
  readonly created_at: string
  /** For the partner token endpoint. Shown only once. */
  readonly client_secret: string
}

export interface ConnectorChanges {
  readonly name?: string | undefined
  /** Values of `ingestion_layer` whose events the connector may send and whose records it may read. */
  readonly source_systems?: readonly string[] | undefined
  /** Null: no region. The connector then cannot read records of a tenant with a residency region. */
  readonly residency_lane?: string | null | undefined
  readonly trusts_cost?: boolean | undefined
  readonly status?: 'active' | 'disabled' | undefined
}

export interface ConnectorRotation {
  /** Default: unchanged. */
  readonly scopes?: ReadonlyArray<'read:attribution' | 'read:reporting' | 'export:create' | 'webhooks:manage'> | null | undefined
}

export interface AttributionRecord {
  readonly id: string
  readonly invocation_id: string
  /** The provider as the event spells it. `provider` is its one name, such as `aws.bedrock`. */
  readonly stated_provider: string
  readonly provider: string
  readonly requested_model: string
  readonly served_model: string
  readonly service: string
  readonly owner: string
  readonly cost_usd: string
  readonly energy_wh: string
  readonly carbon_gco2e: string
  readonly pathway_category: 'application_direct' | 'gateway_mediated' | 'proxy_mediated' | 'agent_workflow' | 'batch' | 'connector_import' | 'other'
  readonly output_state: 'deterministically_resolved' | 'inferred' | 'allocated' | 'unresolved' | 'overridden' | 'disputed'
  readonly interpretation: Interpretation
  /** `ingestion_timestamp` of the event. */
  readonly event_time: string
  readonly materialized_at: string
  readonly trace_id: string | null
  /** The tags whose keys the tenant has declared (`dimensions` of `/api/v1/settings`), by key; null: the event has no such tag. `(not declared)`: the record is older than the declaration. `(other values)`: the key has too many distinct values. */
  readonly tags: { readonly [name: string]: string | null }
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  /** Where the cost comes from; with `unpriced` it is 0 and unknown. */
  readonly cost_basis: 'local_cache' | 'notional' | 'client_estimate' | 'tenant_price' | 'price_book' | 'unpriced'
  /** How well the token counts are known. With `partial`, as of an interrupted stream, cost and footprint are lower bounds. */
  readonly usage_basis: 'reported' | 'partial' | 'estimated' | 'unknown'
  /** How the call ended; null if its source does not say. */
  readonly outcome: 'success' | 'error' | 'cancelled' | null
  readonly energy_basis: 'measured' | 'modelled' | 'unknown'
  readonly carbon_basis: 'measured' | 'modelled' | 'unknown'
}

/** The evidence card. */
export interface Interpretation {
  readonly stage_origin: 'stage_a' | 'stage_b' | 'stage_c'
  readonly confidence: number
  readonly confidence_band: 'chargeback_ready' | 'provisional' | 'estimated'
  /** The strongest evidence behind the result. */
  readonly evidence_basis: 'identity_and_service_resolved' | 'service_resolved' | 'identity_resolved' | 'mapping_rule' | 'trace_correlated' | 'exclusive_principal_resolved' | 'principal_resolved' | 'service_declared' | 'trained_inference' | 'heuristic_baseline' | 'allocation_policy' | 'default_pool' | 'manual_override'
  readonly model_version: string
  readonly degradation_state: 'none' | 'degraded_serving' | 'disabled' | 'model_recalled'
  readonly freshness: 'fresh' | 'index_stale' | 'source_stale'
  /** The first reason that applies. */
  readonly export_eligibility: 'eligible' | 'residency_restricted' | 'disputed' | 'advisory' | 'notional' | 'implausible_cost' | 'unpriced' | 'below_floor'
  /** The kind of fact that contradicts the attribution; null when nothing does. With `trace`, the call states no service, and other calls of its trace belong to several. The `conflict` in the evidence of the explanation names both sides. */
  readonly contested: 'undeclared_service' | 'workload_identity' | 'exclusive_principal' | 'misleading_name' | 'trace' | null
}

export interface ExplainedAttributionRecord {
  readonly id: string
  readonly invocation_id: string
  /** The provider as the event spells it. `provider` is its one name, such as `aws.bedrock`. */
  readonly stated_provider: string
  readonly provider: string
  readonly requested_model: string
  readonly served_model: string
  readonly service: string
  readonly owner: string
  readonly cost_usd: string
  readonly energy_wh: string
  readonly carbon_gco2e: string
  readonly pathway_category: 'application_direct' | 'gateway_mediated' | 'proxy_mediated' | 'agent_workflow' | 'batch' | 'connector_import' | 'other'
  readonly output_state: 'deterministically_resolved' | 'inferred' | 'allocated' | 'unresolved' | 'overridden' | 'disputed'
  readonly interpretation: Interpretation
  /** `ingestion_timestamp` of the event. */
  readonly event_time: string
  readonly materialized_at: string
  readonly trace_id: string | null
  /** The tags whose keys the tenant has declared (`dimensions` of `/api/v1/settings`), by key; null: the event has no such tag. `(not declared)`: the record is older than the declaration. `(other values)`: the key has too many distinct values. */
  readonly tags: { readonly [name: string]: string | null }
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  /** Where the cost comes from; with `unpriced` it is 0 and unknown. */
  readonly cost_basis: 'local_cache' | 'notional' | 'client_estimate' | 'tenant_price' | 'price_book' | 'unpriced'
  /** How well the token counts are known. With `partial`, as of an interrupted stream, cost and footprint are lower bounds. */
  readonly usage_basis: 'reported' | 'partial' | 'estimated' | 'unknown'
  /** How the call ended; null if its source does not say. */
  readonly outcome: 'success' | 'error' | 'cancelled' | null
  readonly energy_basis: 'measured' | 'modelled' | 'unknown'
  readonly carbon_basis: 'measured' | 'modelled' | 'unknown'
  /** All tags of the event, as it stated them, whether or not their keys are declared. */
  readonly event_tags: { readonly [name: string]: string }
  readonly explanation: Explanation
}

/** How the record was computed, in figures that add up. */
export interface Explanation {
  /** The record in plain sentences: who it is attributed to and why, whether it may be charged back, and who else saw the call. Names from outside are in quotes. */
  readonly summary: string
  /** Where the record's own event came from, and the ids that its call has elsewhere. */
  readonly source: {
    /** `api`, or the intake of the event, such as `otlp` or `litellm`. */
    readonly intake: string
    /** Id of the credential that sent the event. */
    readonly principal: string
    readonly ingestion_layer: string
    readonly response_id: string | null
    readonly span_id: string | null
  }
  /** Other events, of other sources, that showed the same call. It is counted once, in this record; empty for most. `DELETE /v1/attribution/{id}/merge` takes them apart. */
  readonly seen_by: ReadonlyArray<{
    readonly invocation_id: string
    readonly event_id: string
    /** `api`, or the intake of the event, such as `otlp` or `litellm`. */
    readonly intake: string
    readonly principal: string
    readonly ingestion_layer: string
    readonly event_time: string
    /** What is the same in both events. */
    readonly matched_by: 'response_id' | 'trace_and_span'
    /** Whether tokens, cost and footprint of the record are those of this event, which knows them better. */
    readonly usage_counts: boolean
  }>
  /** The facts that decided the attribution. */
  readonly evidence: { readonly [name: string]: unknown }
  /** The confidence is the minimum of these; for an inferred record also of its probability and caps. */
  readonly confidence: {
    /** Confidence that the evidence supports; null for an inferred record. */
    readonly evidence: string | null
    /** `attribution_confidence` of the event, or the cap if none is stated; null for an override. */
    readonly producer: string | null
    readonly policy: string
  }
  /** Present for an inferred record; else null. */
  readonly inference: {
    /** Calibrated probability of the chosen service and owner. */
    readonly probability: string
    /** Probability that the call belongs to no service the model knows; null for the baseline. */
    readonly unknown_probability: string | null
    /** The confidence is the minimum of these caps and the probability. */
    readonly caps: ReadonlyArray<{
      readonly cap: 'policy' | 'baseline' | 'not_validated' | 'producer'
      readonly at: string
    }>
    /** Up to three facts of the call that spoke most for the chosen service and owner, the strongest first: how many times likelier each is with them than with the others, by their shares of the traffic. Computed from the version that the record cites; empty if that is no longer kept. */
    readonly reasons: ReadonlyArray<{
      readonly fact: 'model' | 'size' | 'cached_share' | 'reasoning_share' | 'latency' | 'hour' | 'service_tier' | 'region' | 'identity' | 'tags' | 'kubernetes' | 'trace'
      readonly times_likelier: string
      readonly text: string
    }>
    readonly compared_with: {
      /** Other services and owners that the model knows. */
      readonly classes: number
      /** What the call, or the rest of its trace, shows of its caller: no identity, one that the model has learned from, or an unknown one. */
      readonly caller: 'anonymous' | 'familiar' | 'unfamiliar'
      /** Share of held-out calls with such a caller that the model named right at a confidence of 0.80 or more. */
      readonly precision_at_floor: number | null
    } | null
  } | null
  /** Of a record in a cost pool: what the model found likeliest, though not likely enough (0.50) to name it. Null if no model served. */
  readonly best_guess: {
    /** Version of the model that served when the record was made. */
    readonly model: string
    readonly service: string
    readonly owner: string
    readonly probability: string
    readonly unknown_probability: string
  } | null
  readonly alternatives: ReadonlyArray<{ readonly [name: string]: unknown }>
  /** For a stated service that the directory does not contain: services of a close name, the closest first. */
  readonly suggested_services: readonly string[]
  /** Present for a record allocated to a cost pool; else null. */
  readonly allocation: {
    readonly pool: string
    readonly owner: string
    readonly weights_as_of: string | null
    readonly window_days: number
    /** Shares of the cost attributed with certainty over the window, by which a report may spread the pool. They sum to exactly 1; the share of the pool itself stays in it. */
    readonly weights: ReadonlyArray<{
      readonly service: string
      readonly owner: string
      readonly weight: string
    }>
  } | null
  readonly cost: {
    readonly basis: 'local_cache' | 'notional' | 'client_estimate' | 'tenant_price' | 'price_book' | 'unpriced'
    readonly total_usd: string
    /** Cost that the caller stated. `details.stated_cost` says why it is doubted: `implausible` (far from the price, or above the ceiling of a call; it counts, but not for chargeback) or `untrusted` (the price counts instead). */
    readonly stated_usd: string | null
    /** Cost by the applicable price; null if there is none. */
    readonly price_usd: string | null
    /** Estimate minus price; null unless both exist. */
    readonly estimate_difference_usd: string | null
    readonly lines: ReadonlyArray<{
      readonly part: 'input' | 'output' | 'cache_read' | 'cache_write' | 'cache_write_1h' | 'reasoning' | 'audio_input' | 'audio_output' | 'audio_cache_read' | 'image_input' | 'image_output' | 'image_cache_read'
      readonly tokens: number
      readonly billed_as: 'input' | 'output' | 'cache_read' | 'cache_write' | 'cache_write_1h' | 'reasoning' | 'audio_input' | 'audio_output' | 'audio_cache_read' | 'image_input' | 'image_output' | 'image_cache_read'
      readonly rate_usd_per_million: string
      readonly amount_usd: string
    }>
    /** Calls of tools that the provider bills per call. Multipliers do not apply to them. */
    readonly fees: ReadonlyArray<{
      readonly tool: 'web_search' | 'file_search' | 'code_execution'
      readonly calls: number
      readonly usd_per_call: string
      readonly amount_usd: string
    }>
    /** What the price assumes about the call, in sentences, such as the rates of another service tier. */
    readonly assumptions: readonly string[]
    /** What the price covers: tokens, or tokens and the fees of tools that the call used. */
    readonly scope: 'tokens' | 'tokens_and_fees'
    /** The price row, its period and its rates. */
    readonly details: { readonly [name: string]: unknown }
  }
  readonly footprint: {
    readonly energy_wh: {
      readonly value: string
      readonly basis: 'measured' | 'modelled' | 'unknown'
      /** Inner band: parameters and data centre. */
      readonly min?: string | undefined
      readonly max?: string | undefined
      /** Outer band: the method's error against measurements. */
      readonly outer_min?: string | undefined
      readonly outer_max?: string | undefined
    }
    readonly carbon_gco2e: {
      readonly value: string
      readonly basis: 'measured' | 'modelled' | 'unknown'
      /** Inner band: parameters and data centre. */
      readonly min?: string | undefined
      readonly max?: string | undefined
      /** Outer band: the method's error against measurements. */
      readonly outer_min?: string | undefined
      readonly outer_max?: string | undefined
      readonly parts?: {
        readonly usage: string
        readonly embodied: string
      } | undefined
    }
    /** Describes in words how far a modelled value may be off (the outer band); else null. */
    readonly uncertainty: string | null
    readonly inputs: {
      readonly output_tokens: number | null
      readonly latency_ms: number | null
    }
    /** Constants of the closed form, if it was used. */
    readonly constants: { readonly [name: string]: string } | null
    /** The model, the operator, the grid and the method. */
    readonly details: { readonly [name: string]: unknown }
  }
  /** Earlier versions of the record, oldest first; empty for most records. */
  readonly history: ReadonlyArray<{
    readonly valid_from: string
    readonly valid_to: string
    readonly ended_by: {
      readonly change: 'override' | 'undo_override' | 'dispute' | 'undo_dispute' | 'reattribution' | 'revaluation' | 'correction' | 'merge' | 'undo_merge'
      /** Id of the credential, or `cli`. */
      readonly actor: string
    }
    readonly service: string
    readonly owner: string
    readonly output_state: 'deterministically_resolved' | 'inferred' | 'allocated' | 'unresolved' | 'overridden' | 'disputed'
    readonly stage_origin: 'stage_a' | 'stage_b' | 'stage_c'
    readonly evidence_basis: 'identity_and_service_resolved' | 'service_resolved' | 'identity_resolved' | 'mapping_rule' | 'trace_correlated' | 'exclusive_principal_resolved' | 'principal_resolved' | 'service_declared' | 'trained_inference' | 'heuristic_baseline' | 'allocation_policy' | 'default_pool' | 'manual_override'
    readonly confidence_band: 'chargeback_ready' | 'provisional' | 'estimated'
    readonly export_eligibility: 'eligible' | 'residency_restricted' | 'disputed' | 'advisory' | 'notional' | 'implausible_cost' | 'unpriced' | 'below_floor'
    readonly cost_usd: string
    readonly cost_basis: 'local_cache' | 'notional' | 'client_estimate' | 'tenant_price' | 'price_book' | 'unpriced'
    readonly energy_wh: string
    readonly energy_basis: 'measured' | 'modelled' | 'unknown'
    readonly carbon_gco2e: string
    readonly carbon_basis: 'measured' | 'modelled' | 'unknown'
  }>
}

export interface SimilarRecords {
  readonly id: string
  readonly candidates: readonly SimilarRecord[]
  /** What the candidates mean. */
  readonly note: string
}

export interface SimilarRecord {
  readonly id: string
  readonly invocation_id: string
  readonly event_id: string
  readonly source: {
    /** `api`, or the intake of the event, such as `otlp` or `litellm`. */
    readonly intake: string
    /** Id of the credential that sent the event. */
    readonly principal: string
    readonly ingestion_layer: string
  }
  readonly requested_model: string
  readonly served_model: string
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  readonly cost_usd: string
  readonly cost_basis: 'local_cache' | 'notional' | 'client_estimate' | 'tenant_price' | 'price_book' | 'unpriced'
  readonly event_time: string
  /** Its time minus that of the record: negative if it is earlier. */
  readonly time_difference_ms: number
}

export interface AuditCandidate {
  readonly record: AttributionRecord
  /** Calls like this one that nobody could name, itself among them: what an override of it may name. */
  readonly calls: number
  /** Their cost. */
  readonly cost_usd: string
  /** Calls like this one that people have overridden already. */
  readonly audited_calls: number
}

export interface UnknownName {
  /** As the events state it. */
  readonly name: string
  readonly calls: number
  readonly cost_usd: string
  /** Services of the directory with a name or alias of few other letters or mostly the same words, the closest first. */
  readonly nearest_services: readonly string[]
}

export interface NewAlias {
  /** The name to make an alias. */
  readonly name: string
  /** The service of the directory that it stands for. */
  readonly service: string
  /** Calls at or after this time. Default: 30 days before `to`. */
  readonly from?: string | null | undefined
  /** Calls before this time. Default: now. */
  readonly to?: string | null | undefined
}

export interface AssignedAlias {
  readonly name: string
  readonly service: string
  readonly reattribution: {
    readonly id: string
    readonly from: string
    readonly to: string
  }
}

export interface OverridesDryRun {
  readonly dry_run: true
  /** A record must match all of them. */
  readonly filters: readonly RecordFilter[]
  /** Service to attribute the call to. */
  readonly service: string
  /** Owner to attribute the call to. */
  readonly owner: string
  /** Reason, shown to anyone who inspects the record later. At most 256 bytes; must not contain prompt or response content. */
  readonly reason: string
}

/** The JSON form of `filter[<field>][<operator>]=<value>`. */
export interface RecordFilter {
  /** As in `GET /v1/attribution`, or `tags.<key>` of a declared tag key. */
  readonly field: 'id' | 'invocation_id' | 'provider' | 'served_model' | 'service' | 'owner' | 'cost_usd' | 'energy_wh' | 'carbon_gco2e' | 'confidence' | 'confidence_band' | 'stage_origin' | 'evidence_basis' | 'degradation_state' | 'export_eligibility' | 'contested' | 'usage_basis' | 'outcome' | 'pathway_category' | 'output_state' | 'event_time' | 'materialized_at' | 'trace_id' | string
  /** One that the field takes in `GET /v1/attribution`. */
  readonly operator: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'in' | 'contains'
  /** One value; for `in` one or more, of which a record must have one. */
  readonly values: readonly string[]
}

export interface OverridesApplication {
  readonly dry_run: false
  /** From the reply to the dry run. */
  readonly token: string
}

export interface OverridesPreview {
  /** Applies exactly this override, once. Also its id once it is applied. */
  readonly token: string
  readonly expires_at: string
  readonly records: number
  readonly cost_usd: string
  /** The records by service and owner, the most costly first, at most 1,000 of them. A person who owns her own calls is `(the caller)`. */
  readonly before: ReadonlyArray<{
    readonly service: string
    readonly owner: string
    readonly records: number
    readonly cost_usd: string
  }>
  readonly after: ReadonlyArray<{
    readonly service: string
    readonly owner: string
    readonly records: number
    readonly cost_usd: string
  }>
  /** Of the records, those whose stated cost cannot be right. Overriding them makes them eligible for chargeback. */
  readonly implausible_cost: {
    readonly records: number
    readonly cost_usd: string
  }
  /** Records that match and stay as they are, because people have already decided on them. */
  readonly unchanged: {
    readonly overridden: number
    readonly disputed: number
  }
}

export interface BulkOverride {
  readonly id: string
  readonly status: 'running' | 'applied' | 'cancelled' | 'undoing' | 'undone'
  readonly filters: ReadonlyArray<{
    readonly field: string
    readonly operator: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'in' | 'contains'
    readonly values: readonly string[]
  }>
  readonly service: string
  readonly owner: string
  readonly reason: string
  /** Records of the dry run. */
  readonly records: number
  /** Records overridden so far. Fewer than `records` in the end if some were changed after the dry run. */
  readonly overridden: number
  /** Records restored so far; null until the override is undone. Those overridden again since stay as they are. */
  readonly restored: number | null
  readonly created_at: string
}

export interface MappingDryRun {
  /** Calls of the last so many days. Default: 30. */
  readonly days?: number | null | undefined
  /** The rule as it would be saved. */
  readonly rule?: {
    /** Records show it. It never changes. */
    readonly name: string
    readonly priority?: number | null | undefined
    /** Calls made at or after this time. null: calls of all times. */
    readonly from?: string | null | undefined
    /** Calls made before this time. null: no end. */
    readonly to?: string | null | undefined
    /** A call must meet all of them. */
    readonly when: readonly MappingCondition[]
    readonly set: MappingOutcome
  } | null | undefined
  /** Id of the rule that it would replace; without `rule`: that would be deleted. */
  readonly replaces?: string | null | undefined
}

/** `key_alias` and `team` are the tags of these names, `namespace` is `k8s_namespace`, `user_agent` the tag `caller.user-agent`, `identity` is `attributed_identity`, `model` the requested or the served model. Values are compared trimmed, in NFC and without case; identities as they are. */
export type MappingCondition = {
  readonly field: 'tag'
  /** Key of the tag, compared trimmed, in NFC and without case. */
  readonly key: string
  /** In a glob `*` stands for any characters, `?` for one. */
  readonly match: 'exact' | 'prefix' | 'glob'
  readonly value: string
} | {
  readonly field: 'key_alias' | 'team' | 'namespace' | 'user_agent' | 'identity' | 'model'
  /** In a glob `*` stands for any characters, `?` for one. */
  readonly match: 'exact' | 'prefix' | 'glob'
  readonly value: string
}

export interface MappingOutcome {
  /** A name or alias of the directory, or another name. */
  readonly service: string
  /** Default: the owner of the service in the directory. */
  readonly owner?: string | null | undefined
  /** Of declared tag keys; a tag that the call states itself stays. */
  readonly tags?: { readonly [name: string]: string } | null | undefined
}

export interface MappingJob {
  readonly id: string
  readonly status: 'running' | 'done' | 'cancelled'
  readonly dry_run: boolean
  /** Id of the rule; null: all rules. */
  readonly rule: string | null
  readonly from: string
  readonly to: string
  /** Records looked at so far, of all in the period that people have not decided. */
  readonly seen: number
  readonly records: number
  readonly cost_usd: string
  /** Records that stay as they are, because the name of their identity is not stored. */
  readonly unnamed: number
  /** The changed records by service and owner before and after, the most costly first; at most 1,000, the others in one. A person who owns her own calls is `(the caller)`. */
  readonly moves: ReadonlyArray<{
    readonly from_service: string
    readonly from_owner: string
    readonly to_service: string
    readonly to_owner: string
    readonly records: number
    readonly cost_usd: string
  }>
  readonly created_at: string
}

export interface MappingApplication {
  /** Calls made at or after this time. */
  readonly from: string
  /** Calls made before this time. Default: now. */
  readonly to?: string | null | undefined
  /** Only what this rule decides now, or has decided; it may be deleted. Default: all rules. */
  readonly rule?: string | null | undefined
}

export interface MappingRule {
  readonly id: string
  readonly name: string
  readonly created_at: string
  readonly version: number
  readonly from: string | null
  readonly to: string | null
  readonly priority: number
  readonly when: ReadonlyArray<{
    readonly field: 'tag' | 'key_alias' | 'team' | 'namespace' | 'user_agent' | 'identity' | 'model'
    readonly key?: string | undefined
    readonly match: 'exact' | 'prefix' | 'glob'
    readonly value: string
  }>
  readonly set: {
    readonly service: string
    readonly owner?: string | undefined
    readonly tags?: { readonly [name: string]: string } | undefined
  }
  readonly stated_at: string
  /** The versions that hold for some time, oldest first; the last one is that of the rule. */
  readonly versions: ReadonlyArray<{
    readonly version: number
    readonly from: string | null
    readonly to: string | null
    readonly priority: number
    readonly when: ReadonlyArray<{
      readonly field: 'tag' | 'key_alias' | 'team' | 'namespace' | 'user_agent' | 'identity' | 'model'
      readonly key?: string | undefined
      readonly match: 'exact' | 'prefix' | 'glob'
      readonly value: string
    }>
    readonly set: {
      readonly service: string
      readonly owner?: string | undefined
      readonly tags?: { readonly [name: string]: string } | undefined
    }
    readonly stated_at: string
  }>
}

export interface DirectoryService {
  readonly id: string
  readonly name: string
  readonly owner: string
  readonly aliases: readonly string[]
  readonly changes: ReadonlyArray<{
    readonly from: string
    readonly owner: string | null
    readonly name: string | null
    readonly merged_into: string | null
    /** The change was stated after its own time. Calls of this period were attributed without it, and stay so until the period is re-attributed. Null: stated ahead. */
    readonly reattribution: {
      readonly from: string
      readonly to: string
    } | null
  }>
  /** After the changes so far. */
  readonly now: {
    readonly name: string
    readonly owner: string
    readonly merged_into: string | null
  }
}

export interface NewServiceChange {
  /** Calls made at or after this time show the change. */
  readonly from: string
  /** Its owner since then. */
  readonly owner?: string | null | undefined
  /** Its name since then. Calls may state it, and the names before, at any time. */
  readonly name?: string | null | undefined
  /** Another service of the directory that it is part of since then; the last change, alone. */
  readonly merged_into?: string | null | undefined
}

export interface DirectoryIdentity {
  readonly id: string
  readonly name: string
  readonly owner: string | null
  readonly service: string | null
  readonly is_workload: boolean
  /** False: SCIM says that it has left. Its calls are still attributed. */
  readonly is_active: boolean
}

export interface DirectoryPrincipal {
  readonly id: string
  readonly principal_id: string
  readonly service: string
  readonly exclusive: boolean
}

export interface DirectorySource {
  readonly id: string
  readonly name: string
  readonly pathway: 'application_direct' | 'gateway_mediated' | 'proxy_mediated' | 'agent_workflow' | 'batch' | 'connector_import' | 'other' | null
  readonly is_discovery_only: boolean
}

export interface DirectoryFile {
  readonly services?: ReadonlyArray<{
    /** Before its first change. The entry keeps this name. */
    readonly name: string
    /** Team or cost centre that owns its cost; before its first change of owner. */
    readonly owner: string
    /** Other names for the service in events. */
    readonly aliases?: readonly string[] | null | undefined
    /** What changes from a time on: its name, its owner, or the service that it is part of. Calls are attributed by what was true when they were made. Replaces all earlier changes. */
    readonly changes?: readonly NewServiceChange[] | null | undefined
  }> | undefined
  readonly identities?: ReadonlyArray<{
    /** The value of `attributed_identity` in events. */
    readonly name: string
    /** Team; owns calls of services that have no owner. */
    readonly owner?: string | null | undefined
    /** Service of calls that state only the identity; set it if the identity works for one service only. */
    readonly service?: string | null | undefined
    /** Whether this is a workload, not a person: reports then need not hide it in a group of at least five. */
    readonly is_workload?: boolean | null | undefined
  }> | undefined
  readonly principals?: ReadonlyArray<{
    /** Id of the credential. */
    readonly principal_id: string
    /** Service of calls sent with this credential that state neither service nor identity. */
    readonly service: string
    /** Whether the credential belongs to this service alone: all its calls are then attributed to the service, also those that state another one; the record shows the claim. */
    readonly exclusive?: boolean | null | undefined
  }> | undefined
  readonly sources?: ReadonlyArray<{
    /** The value of `ingestion_layer` in events, or of `source` in observations. */
    readonly name: string
    /** Pathway on which its events are expected. */
    readonly pathway?: 'application_direct' | 'gateway_mediated' | 'proxy_mediated' | 'agent_workflow' | 'batch' | 'connector_import' | 'other' | null | undefined
    /** Whether the source only discovers traffic and never captures single calls: invocations from this layer are refused. */
    readonly is_discovery_only?: boolean | null | undefined
  }> | undefined
}

export interface DirectoryImport {
  readonly id: string
  readonly dry_run: false
  /** `interrupted`: the process died. Import the file again: what is done already is unchanged then. */
  readonly status: 'running' | 'done' | 'interrupted'
  readonly created_at: string
  /** Adds, changes and removals made so far. */
  readonly applied: number
  readonly adds: number
  readonly changes: number
  /** Entries of the kinds in the file that it does not name. */
  readonly removals: number
  /** Lines that are no entry, or conflict with others. The entry of that name stays. */
  readonly refusals: number
  readonly unchanged: number
  /** The first 1000, as of the other lists. */
  readonly added: ReadonlyArray<{
    readonly kind: 'services' | 'identities' | 'principals' | 'sources'
    /** Of a CSV file, from 1. */
    readonly line: number | null
    /** Into a JSON document. */
    readonly pointer: string | null
    /** Id of the entry. */
    readonly id: string
    readonly name: string
  }>
  readonly changed: ReadonlyArray<{
    readonly kind: 'services' | 'identities' | 'principals' | 'sources'
    /** Of a CSV file, from 1. */
    readonly line: number | null
    /** Into a JSON document. */
    readonly pointer: string | null
    /** Id of the entry. */
    readonly id: string
    readonly name: string
  }>
  readonly removed: ReadonlyArray<{
    readonly kind: 'services' | 'identities' | 'principals' | 'sources'
    /** Of a CSV file, from 1. */
    readonly line: number | null
    /** Into a JSON document. */
    readonly pointer: string | null
    /** Id of the entry. */
    readonly id: string
    readonly name: string
  }>
  readonly refused: ReadonlyArray<{
    readonly kind: 'services' | 'identities' | 'principals' | 'sources' | null
    /** Of a CSV file, from 1. */
    readonly line: number | null
    /** Into a JSON document. */
    readonly pointer: string | null
    readonly reason: string
  }>
}

export interface DirectoryImportDryRun {
  readonly dry_run: true
  readonly adds: number
  readonly changes: number
  /** Entries of the kinds in the file that it does not name. */
  readonly removals: number
  /** Lines that are no entry, or conflict with others. The entry of that name stays. */
  readonly refusals: number
  readonly unchanged: number
  /** The first 1000, as of the other lists. */
  readonly added: ReadonlyArray<{
    readonly kind: 'services' | 'identities' | 'principals' | 'sources'
    /** Of a CSV file, from 1. */
    readonly line: number | null
    /** Into a JSON document. */
    readonly pointer: string | null
    /** Id of the entry. */
    readonly id: string
    readonly name: string
  }>
  readonly changed: ReadonlyArray<{
    readonly kind: 'services' | 'identities' | 'principals' | 'sources'
    /** Of a CSV file, from 1. */
    readonly line: number | null
    /** Into a JSON document. */
    readonly pointer: string | null
    /** Id of the entry. */
    readonly id: string
    readonly name: string
  }>
  readonly removed: ReadonlyArray<{
    readonly kind: 'services' | 'identities' | 'principals' | 'sources'
    /** Of a CSV file, from 1. */
    readonly line: number | null
    /** Into a JSON document. */
    readonly pointer: string | null
    /** Id of the entry. */
    readonly id: string
    readonly name: string
  }>
  readonly refused: ReadonlyArray<{
    readonly kind: 'services' | 'identities' | 'principals' | 'sources' | null
    /** Of a CSV file, from 1. */
    readonly line: number | null
    /** Into a JSON document. */
    readonly pointer: string | null
    readonly reason: string
  }>
}

export interface Price {
  readonly id: string
  readonly provider: string
  readonly model: string
  readonly region: string | null
  readonly valid_from: string
  readonly valid_to: string | null
  readonly usd_per_million: RateTable
  readonly usd_per_call: Fees | null
  readonly created_at: string
}

/** Rates of the standard tier, and of other tiers. */
export interface RateTable {
  readonly input_tokens: string
  readonly output_tokens: string
  readonly cache_read_tokens?: string | null | undefined
  readonly cache_write_tokens?: string | null | undefined
  readonly cache_write_1h_tokens?: string | null | undefined
  readonly reasoning_tokens?: string | null | undefined
  readonly audio_input_tokens?: string | null | undefined
  readonly audio_output_tokens?: string | null | undefined
  readonly audio_cache_read_tokens?: string | null | undefined
  readonly image_input_tokens?: string | null | undefined
  readonly image_output_tokens?: string | null | undefined
  readonly image_cache_read_tokens?: string | null | undefined
  readonly batch?: Rates | null | undefined
  readonly flex?: Rates | null | undefined
  readonly priority?: Rates | null | undefined
  readonly scale?: Rates | null | undefined
  readonly priority_on_demand?: Rates | null | undefined
  readonly flex_discount?: Rates | null | undefined
  readonly thresholds?: readonly RatesAbove[] | null | undefined
}

/** USD per 1,000,000 tokens. Tokens without a rate of their own are billed as input or output. */
export interface Rates {
  readonly input_tokens: string
  readonly output_tokens: string
  readonly cache_read_tokens?: string | null | undefined
  readonly cache_write_tokens?: string | null | undefined
  readonly cache_write_1h_tokens?: string | null | undefined
  readonly reasoning_tokens?: string | null | undefined
  readonly audio_input_tokens?: string | null | undefined
  readonly audio_output_tokens?: string | null | undefined
  readonly audio_cache_read_tokens?: string | null | undefined
  readonly image_input_tokens?: string | null | undefined
  readonly image_output_tokens?: string | null | undefined
  readonly image_cache_read_tokens?: string | null | undefined
}

/** Rates for all tokens of a request with more than `above_input_tokens` input tokens. Omitted rates are those of the base table, except that a stated cache write rate also applies to one-hour cache writes. */
export interface RatesAbove {
  readonly above_input_tokens: number
  readonly input_tokens?: string | undefined
  readonly output_tokens?: string | undefined
  readonly cache_read_tokens?: string | null | undefined
  readonly cache_write_tokens?: string | null | undefined
  readonly cache_write_1h_tokens?: string | null | undefined
  readonly reasoning_tokens?: string | null | undefined
  readonly audio_input_tokens?: string | null | undefined
  readonly audio_output_tokens?: string | null | undefined
  readonly audio_cache_read_tokens?: string | null | undefined
  readonly image_input_tokens?: string | null | undefined
  readonly image_output_tokens?: string | null | undefined
  readonly image_cache_read_tokens?: string | null | undefined
  readonly batch?: Rates | null | undefined
  readonly flex?: Rates | null | undefined
  readonly priority?: Rates | null | undefined
  readonly scale?: Rates | null | undefined
  readonly priority_on_demand?: Rates | null | undefined
  readonly flex_discount?: Rates | null | undefined
}

/** USD per call of a tool that the provider runs. Tools without a fee have that of the price book. */
export interface Fees {
  readonly web_search?: string | null | undefined
  readonly file_search?: string | null | undefined
  readonly code_execution?: string | null | undefined
}

/** Rates of the standard tier, and of other tiers. */
export interface NewRateTable {
  readonly input_tokens: string
  readonly output_tokens: string
  readonly cache_read_tokens?: string | null | undefined
  readonly cache_write_tokens?: string | null | undefined
  readonly cache_write_1h_tokens?: string | null | undefined
  readonly reasoning_tokens?: string | null | undefined
  readonly audio_input_tokens?: string | null | undefined
  readonly audio_output_tokens?: string | null | undefined
  readonly audio_cache_read_tokens?: string | null | undefined
  readonly image_input_tokens?: string | null | undefined
  readonly image_output_tokens?: string | null | undefined
  readonly image_cache_read_tokens?: string | null | undefined
  readonly batch?: NewRates | null | undefined
  readonly flex?: NewRates | null | undefined
  readonly priority?: NewRates | null | undefined
  readonly scale?: NewRates | null | undefined
  readonly priority_on_demand?: NewRates | null | undefined
  readonly flex_discount?: NewRates | null | undefined
  readonly thresholds?: readonly NewRatesAbove[] | null | undefined
}

/** USD per 1,000,000 tokens. Tokens without a rate of their own are billed as input or output. */
export interface NewRates {
  readonly input_tokens: string
  readonly output_tokens: string
  readonly cache_read_tokens?: string | null | undefined
  readonly cache_write_tokens?: string | null | undefined
  readonly cache_write_1h_tokens?: string | null | undefined
  readonly reasoning_tokens?: string | null | undefined
  readonly audio_input_tokens?: string | null | undefined
  readonly audio_output_tokens?: string | null | undefined
  readonly audio_cache_read_tokens?: string | null | undefined
  readonly image_input_tokens?: string | null | undefined
  readonly image_output_tokens?: string | null | undefined
  readonly image_cache_read_tokens?: string | null | undefined
}

/** Rates for all tokens of a request with more than `above_input_tokens` input tokens. Omitted rates are those of the base table, except that a stated cache write rate also applies to one-hour cache writes. */
export interface NewRatesAbove {
  readonly above_input_tokens: number
  readonly input_tokens?: string | undefined
  readonly output_tokens?: string | undefined
  readonly cache_read_tokens?: string | null | undefined
  readonly cache_write_tokens?: string | null | undefined
  readonly cache_write_1h_tokens?: string | null | undefined
  readonly reasoning_tokens?: string | null | undefined
  readonly audio_input_tokens?: string | null | undefined
  readonly audio_output_tokens?: string | null | undefined
  readonly audio_cache_read_tokens?: string | null | undefined
  readonly image_input_tokens?: string | null | undefined
  readonly image_output_tokens?: string | null | undefined
  readonly image_cache_read_tokens?: string | null | undefined
  readonly batch?: NewRates | null | undefined
  readonly flex?: NewRates | null | undefined
  readonly priority?: NewRates | null | undefined
  readonly scale?: NewRates | null | undefined
  readonly priority_on_demand?: NewRates | null | undefined
  readonly flex_discount?: NewRates | null | undefined
}

/** USD per call of a tool that the provider runs. Default: the fees of the price book. */
export interface NewFees {
  readonly web_search?: string | null | undefined
  readonly file_search?: string | null | undefined
  readonly code_execution?: string | null | undefined
}

/** A version of the tenant's trained inference model, with its model card. */
export interface Model {
  /** `model_version` of the records that this version attributed. */
  readonly id: string
  readonly status: 'candidate' | 'serving' | 'previous' | 'recalled' | 'withdrawn'
  readonly created_at: string
  readonly promoted_at: string | null
  readonly recalled_at: string | null
  /** False when the version is too old to serve: only its model card is retained. */
  readonly can_serve: boolean
  readonly seed: number
  readonly classes: ReadonlyArray<{
    readonly service: string
    readonly owner: string
    readonly examples: number
    /** Estimated share of the traffic that stage A does not resolve. */
    readonly served_share: number
  }>
  readonly data_window: {
    readonly from: string
    readonly to: string
    readonly validation_from: string
  }
  readonly examples: {
    readonly resolved: number
    readonly unresolved: number
    readonly overrides: number
    readonly disputes: number
  }
  /** Share of the traffic not resolved by stage A that does not resemble any class. */
  readonly unknown_share: number
  /** Unresolved traffic by what it shows of its caller; empty for versions of earlier releases. */
  readonly patterns: ReadonlyArray<{
    /** anonymous: the event states no identity; familiar: one that resolved events state too; unfamiliar: another one. */
    readonly pattern: 'anonymous' | 'familiar' | 'unfamiliar'
    /** Share of the traffic not resolved by stage A. */
    readonly share: number
    /** Share of these events that does not resemble any class. */
    readonly unknown_share: number
  }>
  /** Why the version was withdrawn: newly resolved events, with their services hidden, showed that it is wrong too often. The baseline serves until a training has passed validation. Null otherwise. */
  readonly withdrawn: {
    readonly at: string
    /** Number of newly resolved events that the version was scored on. */
    readonly scored: number
    /** Share of correct predictions among those at or above 0.80. */
    readonly precision: number
    /** Upper confidence bound (99.5 %) of the precision. */
    readonly precision_at_most: number
    /** Event time of the first scored event. */
    readonly from: string
    /** Services whose calls no longer look as they did. Their older records are not learned from. */
    readonly changed: ReadonlyArray<{
      readonly service: string
      readonly owner: string
    }>
  } | null
  readonly validation: {
    /** If false, the confidence of the version stays below 0.80, even when it is promoted. */
    readonly passed: boolean
    /** Reasons why validation failed. */
    readonly reasons: readonly string[]
    readonly served_traffic: ModelQuality
    /** Quality on overrides held out from training; null when there are none. */
    readonly audits: ModelQuality | null
  }
  readonly calibration_curve: ReadonlyArray<{
    readonly from: number
    readonly to: number
    readonly n: number
    readonly mean_probability: number
    readonly accuracy: number
  }>
  readonly feature_importance: ReadonlyArray<{
    readonly feature: string
    readonly accuracy_lost: number
  }>
  /** Shadow evaluation of the version on live traffic as a candidate. */
  readonly shadow: {
    /** The version that served during the evaluation. */
    readonly against: string
    readonly since: string
    readonly events: number
    /** Events for which both versions predict the same service and owner. */
    readonly agreed: number
    /** Events at or above 0.80 in the serving version. */
    readonly serving_ready: number
    readonly candidate_ready: number
    /** Events at or above 0.80 in both versions, with different services or owners. */
    readonly ready_for_another: number
    /** Events below 0.50 in the serving version, which are left to allocation. */
    readonly serving_left: number
    readonly candidate_left: number
    /** The most frequent changes of service or owner. */
    readonly changes: ReadonlyArray<{
      readonly from: {
        readonly service: string
        readonly owner: string
      }
      readonly to: {
        readonly service: string
        readonly owner: string
      }
      readonly events: number
    }>
  } | null
}

export interface ModelQuality {
  /** Number of evaluated events. */
  readonly n: number
  readonly accuracy: number
  /** Accuracy of the heuristic baseline on the same events. */
  readonly heuristic_accuracy: number
  /** Accuracy of always predicting the most frequent class. */
  readonly majority_accuracy: number
  /** Expected calibration error, minus the error expected by chance. */
  readonly calibration_error: number
  /** Share of correct predictions among events at or above 0.80; null when there are none. */
  readonly precision_at_floor: number | null
  readonly share_at_floor: number
  /** Mean negative log-likelihood of the truth, in nats; null for versions of earlier releases. */
  readonly log_loss: number | null
  /** The same for the shares of the capture context alone. A version must be better than this. */
  readonly context_log_loss: number | null
}

export interface ModelName {
  readonly id: string
  readonly provider: string
  readonly name: string
  readonly served_provider: string
  readonly served_model: string
  readonly created_at: string
}

export interface Pool {
  readonly id: string
  readonly name: string
  readonly owner: string
  readonly priority: number
  readonly rules: ReadonlyArray<{
    readonly provider?: string | undefined
    readonly ingestion_layer?: string | undefined
    readonly principal_id?: string | undefined
  }>
  readonly created_at: string
}

/** Matches calls that meet all given conditions. */
export interface PoolRule {
  readonly provider?: string | null | undefined
  readonly ingestion_layer?: string | null | undefined
  readonly principal_id?: string | null | undefined
}

/** Only where the filters select fewer people than `min_cohort`: filters were dropped, the last first, until they selected enough. The rows are those of the larger group. */
export interface SuppressedFilters {
  readonly reason: 'cohort_too_small'
  readonly asked: ReadonlyArray<{
    readonly field: 'owner' | 'service' | 'provider' | 'served_model' | 'requested_model' | 'pathway_category' | 'ingestion_layer' | 'output_state' | 'confidence_band' | 'stage_origin' | 'export_eligibility' | 'contested' | 'region' | 'cost_basis' | 'pool' | string
    readonly operator: string
    readonly values: readonly string[]
  }>
  readonly applied: ReadonlyArray<{
    readonly field: 'owner' | 'service' | 'provider' | 'served_model' | 'requested_model' | 'pathway_category' | 'ingestion_layer' | 'output_state' | 'confidence_band' | 'stage_origin' | 'export_eligibility' | 'contested' | 'region' | 'cost_basis' | 'pool' | string
    readonly operator: string
    readonly values: readonly string[]
  }>
}

export interface UsageRow {
  readonly from: string
  /** An interval at the edge of the period is cut to it. */
  readonly to: string
  readonly owner?: string | null | undefined
  readonly service?: string | null | undefined
  readonly provider?: string | null | undefined
  readonly served_model?: string | null | undefined
  readonly requested_model?: string | null | undefined
  readonly pathway_category?: string | null | undefined
  readonly ingestion_layer?: string | null | undefined
  readonly output_state?: string | null | undefined
  readonly confidence_band?: string | null | undefined
  readonly stage_origin?: string | null | undefined
  readonly export_eligibility?: string | null | undefined
  readonly contested?: string | null | undefined
  readonly region?: string | null | undefined
  readonly cost_basis?: string | null | undefined
  readonly pool?: string | null | undefined
  /** Only where filters were dropped (`suppressed`): the figures are those of a larger group than the one asked for. */
  readonly scope?: 'parent' | undefined
  /** Whether the row combines groups that are not shown: those of fewer people than `min_cohort`, and at most one larger one where these alone would be too few. The labels that they do not share are null. */
  readonly folded: boolean
  /** Only in folded rows: how many groups it combines. */
  readonly groups?: number | undefined
  /** Distinct identities, not counting workloads. Null where a folded row has fewer than `min_cohort`, because the whole interval has. */
  readonly people: number | null
  /** Whether the row is the calls without a service (in the default pool) or without an owner; `reasons` says why. Such a row is a group of its own, unlike a folded one. */
  readonly unattributed: boolean
  readonly cost_usd: string
  readonly energy_wh: string
  readonly carbon_gco2e: string
  readonly calls: number
  readonly input_tokens: number
  readonly output_tokens: number
  /** Included in `input_tokens`. */
  readonly cached_input_tokens: number
  /** Included in `input_tokens`. */
  readonly cache_write_tokens: number
  /** Included in `output_tokens`. */
  readonly reasoning_tokens: number
  /** Calls without a price; their cost is not included in `cost_usd`. */
  readonly unpriced_calls: number
  /** Share of the cost of the whole report, 0 to 1. Rounded half to even, to 6 decimals; null without a divisor. */
  readonly cost_share: string | null
  /** Cost per call. Rounded half to even, to 12 decimals; null without a divisor. */
  readonly cost_usd_per_call: string | null
  /** Cost per 1,000 input and output tokens. Rounded half to even, to 12 decimals; null without a divisor. */
  readonly cost_usd_per_1k_tokens: string | null
  /** Figures that are lower bounds, because the value is unknown for some calls. */
  readonly lower_bounds: ReadonlyArray<'cost_usd' | 'energy_wh' | 'carbon_gco2e' | 'input_tokens' | 'output_tokens'>
  /** Mean confidence, weighted by cost. Rounded half to even, to 4 decimals; null without a divisor. */
  readonly confidence: string | null
  /** Cost at each confidence band. Adds up to `cost_usd`. */
  readonly cost_usd_by_band: {
    readonly chargeback_ready: string
    readonly provisional: string
    readonly estimated: string
  }
  /** Calls without a service or without an owner. */
  readonly unattributed_calls: number
  readonly unattributed_cost_usd: string
  /** Only with `include_notional`: dollars that were stated for calls which nobody is billed for. Included in no other figure, and not spread where the report is allocated. */
  readonly notional_cost_usd?: string | undefined
  /** Calls whose attribution or cost cannot be relied on, by reason: no rule and no evidence (`default_pool`), no known owner (`no_owner`), confidence below the chargeback floor (`below_floor`), attributed by the heuristic baseline (`advisory`), a stated cost far from the price (`implausible_cost`), no price (`unpriced`). A call may have several. Reasons without calls are omitted. In allocated reports the cost of a reason is spread like that of its calls, which stay with their pool. */
  readonly reasons: {
    readonly default_pool?: {
      readonly calls: number
      readonly cost_usd: string
    } | undefined
    readonly no_owner?: {
      readonly calls: number
      readonly cost_usd: string
    } | undefined
    readonly below_floor?: {
      readonly calls: number
      readonly cost_usd: string
    } | undefined
    readonly advisory?: {
      readonly calls: number
      readonly cost_usd: string
    } | undefined
    readonly implausible_cost?: {
      readonly calls: number
      readonly cost_usd: string
    } | undefined
    readonly unpriced?: {
      readonly calls: number
      readonly cost_usd: string
    } | undefined
  }
  /** Only with `compare`: the row has calls in `both` periods, is `new`, or is `gone`; `not_shown`: it is folded in one of the periods, or the filters select too few people in the previous one. */
  readonly compared?: 'both' | 'new' | 'gone' | 'not_shown' | undefined
  /** The figures of the period before; null where they are not shown. */
  readonly previous?: {
    readonly cost_usd: string | null
    readonly energy_wh: string | null
    readonly carbon_gco2e: string | null
    readonly calls: number | null
    readonly input_tokens: number | null
    readonly output_tokens: number | null
    readonly cached_input_tokens: number | null
    readonly cache_write_tokens: number | null
    readonly reasoning_tokens: number | null
    readonly unpriced_calls: number | null
    readonly people: number | null
    readonly cost_usd_per_call: string | null
    readonly cost_usd_per_1k_tokens: string | null
  } | null | undefined
  /** The figures of the row minus the previous ones. */
  readonly change?: {
    readonly cost_usd: string | null
    readonly energy_wh: string | null
    readonly carbon_gco2e: string | null
    readonly calls: number | null
    readonly input_tokens: number | null
    readonly output_tokens: number | null
    readonly cached_input_tokens: number | null
    readonly cache_write_tokens: number | null
    readonly reasoning_tokens: number | null
    readonly unpriced_calls: number | null
    readonly people: number | null
    readonly cost_usd_per_call: string | null
    readonly cost_usd_per_1k_tokens: string | null
  } | null | undefined
  /** The change in percent of the previous figure, rounded half to even, to 2 decimals; null where that is 0. */
  readonly change_percent?: {
    readonly cost_usd: string | null
    readonly energy_wh: string | null
    readonly carbon_gco2e: string | null
    readonly calls: string | null
    readonly input_tokens: string | null
    readonly output_tokens: string | null
    readonly cached_input_tokens: string | null
    readonly cache_write_tokens: string | null
    readonly reasoning_tokens: string | null
    readonly unpriced_calls: string | null
    readonly people: string | null
    readonly cost_usd_per_call: string | null
    readonly cost_usd_per_1k_tokens: string | null
  } | null | undefined
}

/** What the report covers. */
export interface ReportScope {
  readonly from: string
  readonly to: string
  readonly time_zone: string
  readonly interval: '15m' | 'hour' | 'day' | 'week' | 'month' | null
  readonly group_by: ReadonlyArray<'owner' | 'service' | 'provider' | 'served_model' | 'requested_model' | 'pathway_category' | 'ingestion_layer' | 'output_state' | 'confidence_band' | 'stage_origin' | 'export_eligibility' | 'contested' | 'region' | 'cost_basis' | 'pool' | string>
  /** Whether the amounts of cost pools are spread over services and owners. */
  readonly allocated: boolean
  /** Only in allocated reports: for each month, the time of the weights by which its pools are spread, which are the latest ones at the end of the month. Null when there are none; pools are then not spread. */
  readonly allocation_weights?: ReadonlyArray<{
    readonly from: string
    readonly to: string
    readonly as_of: string | null
  }> | undefined
  /** Fields of the filters that were dropped; see `suppressed`. */
  readonly widened_filters: ReadonlyArray<'owner' | 'service' | 'provider' | 'served_model' | 'requested_model' | 'pathway_category' | 'ingestion_layer' | 'output_state' | 'confidence_band' | 'stage_origin' | 'export_eligibility' | 'contested' | 'region' | 'cost_basis' | 'pool' | string>
  /** The figures are those of this time: later calls and changes are not in them. */
  readonly as_of: string
  /** Rows of the whole report. */
  readonly rows: number
  /** Cost of the whole report: the sum of its rows. */
  readonly total_cost_usd: string
  /** Only with `include_notional`: the sum over the rows, apart from `total_cost_usd`. */
  readonly total_notional_cost_usd?: string | undefined
  /** Only with `compare`: the period before, and the cost of all its rows, shown or not; null where its filters select too few people, or there are no rows. */
  readonly compared_with?: {
    readonly from: string
    readonly to: string
    readonly total_cost_usd: string | null
  } | undefined
}

export interface AdoptionRow {
  readonly from: string
  /** An interval at the edge of the period is cut to it. */
  readonly to: string
  readonly owner?: string | null | undefined
  readonly service?: string | null | undefined
  readonly provider?: string | null | undefined
  readonly served_model?: string | null | undefined
  readonly requested_model?: string | null | undefined
  readonly pathway_category?: string | null | undefined
  readonly ingestion_layer?: string | null | undefined
  readonly output_state?: string | null | undefined
  readonly confidence_band?: string | null | undefined
  readonly stage_origin?: string | null | undefined
  readonly export_eligibility?: string | null | undefined
  readonly contested?: string | null | undefined
  readonly region?: string | null | undefined
  readonly cost_basis?: string | null | undefined
  readonly pool?: string | null | undefined
  /** Only where filters were dropped (`suppressed`): the figures are those of a larger group than the one asked for. */
  readonly scope?: 'parent' | undefined
  /** Whether the row combines groups that are not shown: those of fewer people than `min_cohort`, and at most one larger one where these alone would be too few. The labels that they do not share are null. */
  readonly folded: boolean
  /** Only in folded rows: how many groups it combines. */
  readonly groups?: number | undefined
  /** Distinct identities, not counting workloads. Null where a folded row has fewer than `min_cohort`, because the whole interval has. */
  readonly people: number | null
  readonly calls: number
  /** Only with `compare`: the row has calls in `both` periods, is `new`, or is `gone`; `not_shown`: it is folded in one of the periods, or the filters select too few people in the previous one. */
  readonly compared?: 'both' | 'new' | 'gone' | 'not_shown' | undefined
  /** The figures of the period before; null where they are not shown. */
  readonly previous?: {
    readonly people: number | null
    readonly calls: number | null
  } | null | undefined
  /** The figures of the row minus the previous ones. */
  readonly change?: {
    readonly people: number | null
    readonly calls: number | null
  } | null | undefined
  /** The change in percent of the previous figure, rounded half to even, to 2 decimals; null where that is 0. */
  readonly change_percent?: {
    readonly people: string | null
    readonly calls: string | null
  } | null | undefined
}

export interface UnpricedRow {
  readonly provider: string | null
  readonly served_model: string | null
  /** Unpriced calls. */
  readonly calls: number
  /** Of the unpriced calls; null with `scope`. */
  readonly input_tokens: number | null
  /** Of the unpriced calls; null with `scope`. */
  readonly output_tokens: number | null
  /** Token counts that are lower bounds, because some calls state none. */
  readonly lower_bounds: ReadonlyArray<'input_tokens' | 'output_tokens'>
  /** Distinct identities with unpriced calls, not counting workloads. */
  readonly people: number | null
  /** Whether the row combines models that are not shown: too few people have unpriced calls of them. */
  readonly folded: boolean
  /** Only in folded rows: how many models it combines. */
  readonly groups?: number | undefined
  /** Only where fewer people than `min_cohort` have unpriced calls: the row is of all calls of a model, of which `calls` are unpriced. */
  readonly scope?: 'parent' | undefined
}

export interface PathwayCoverage {
  readonly pathway: 'application_direct' | 'gateway_mediated' | 'proxy_mediated' | 'agent_workflow' | 'batch' | 'connector_import' | 'other'
  /** `degraded`: an expected layer is missing. `discovery_only`: traffic is discovered but no layer captures its calls. `silent`: no calls in the last 24 hours, and none expected. */
  readonly status: 'covered' | 'degraded' | 'discovery_only' | 'silent'
  /** Capture layers that sent calls in the last 24 hours. A layer that the directory declares as a source counts for the pathway declared there. */
  readonly layers_deployed: readonly string[]
  /** Expected layers that sent none: sources that the directory declares for this pathway, and layers that sent calls on at least three of the previous seven days. */
  readonly layers_missing: readonly string[]
  /** Sources that the directory marks as discovery-only, or that appear only in `/api/v1/events`. They create no records, and invocations from a layer marked this way are refused. */
  readonly discovery_only: readonly string[]
  /** Event time of the newest call in the last 30 days; where no layer captures calls, of the newest observation of a discovery-only source. Null without any. */
  readonly last_event_at: string | null
  /** Share of the calls of the last 24 hours that are unattributed; null without calls. */
  readonly unattributed_share: string | null
  /** Spans, log records and requests for metrics that the intake port took in the last 24 hours (counted by whole hours) and that are no calls of a model. Some seconds old. */
  readonly passed_over: readonly PassedOverTelemetry[]
}

export interface PassedOverTelemetry {
  /** Capture layer that sent it. */
  readonly layer: string
  /** Why no record came of it: `agent`, `workflow`, `tool` and `chain` repeat the usage of the calls within them; `same_call` shows a call once more; `other_operation`, `failed_without_usage`, `unrelated` (HTTP, databases, logs); `metrics_request`. More kinds may come. */
  readonly kind: string
  readonly count: number
  readonly last_at: string
}

export interface Anomaly {
  /** Id of the event `anomaly.detected`. One per service, owner, provider and hour. */
  readonly id: string
  readonly detected_at: string
  /** Whose calls cost more than expected. */
  readonly scope: {
    readonly service: string
    readonly owner: string
    readonly provider: string
  }
  /** Cost in the window, up to `observed_until`. */
  readonly observed_usd: string
  /** Cost expected in a whole hour: the median of the same hour of the previous weeks, or of the previous hours while there are fewer than four weeks. */
  readonly expected_usd: string
  /** The hour. */
  readonly window: {
    readonly from: string
    readonly to: string
  }
  /** Before the end of the window, the hour was still running when the anomaly was detected. */
  readonly observed_until: string
  /** Distance from the baseline, in robust standard deviations. */
  readonly score: number
}

export interface Budget {
  readonly id: string
  readonly name: string
  readonly filter: {
    readonly owner?: string | undefined
    readonly service?: string | undefined
    readonly provider?: string | undefined
    readonly served_model?: string | undefined
    readonly requested_model?: string | undefined
    readonly pathway_category?: string | undefined
    readonly ingestion_layer?: string | undefined
    readonly output_state?: string | undefined
    readonly confidence_band?: string | undefined
    readonly stage_origin?: string | undefined
    readonly export_eligibility?: string | undefined
    readonly contested?: string | undefined
    readonly region?: string | undefined
    readonly cost_basis?: string | undefined
    readonly pool?: string | undefined
    /** Values of tags, by key in lower case. */
    readonly tags?: { readonly [name: string]: string } | undefined
  }
  /** The ceiling is one of each value of this dimension, or tag. */
  readonly per: 'owner' | 'service' | 'provider' | 'served_model' | 'requested_model' | 'pathway_category' | 'ingestion_layer' | 'output_state' | 'confidence_band' | 'stage_origin' | 'export_eligibility' | 'contested' | 'region' | 'cost_basis' | 'pool' | string | null
  readonly period: 'day' | 'week' | 'month' | 'quarter'
  /** In which periods start and end. */
  readonly time_zone: string
  readonly ceiling_usd: string
  /** The same as `ceiling_usd` if the period is a month, null otherwise. */
  readonly monthly_ceiling_usd: string | null
  /** Percent of the ceiling, ascending. */
  readonly thresholds: readonly number[]
  readonly created_at: string
  /** The current period. Only in answers to `GET`. */
  readonly current?: BudgetPeriod | undefined
}

export interface BudgetPeriod {
  readonly from: string
  /** The end of the period, exclusive. */
  readonly to: string
  readonly as_of: string
  /** Cost of the matching calls of the period so far. Exact. */
  readonly spent_usd: string
  /** Of the ceiling, cut to two decimals: below 100.00 until the ceiling is reached. */
  readonly percent: string | null
  /** Run rate: `spent_usd` × length of the period ÷ time elapsed, rounded half to even to six decimals. Null until 1/24 of the period has passed (one hour of a day, 30 hours of a month of 30 days). */
  readonly forecast_usd: string | null
  /** The forecast in percent of the ceiling, cut to two decimals. */
  readonly forecast_percent: string | null
  /** Only without `per`. */
  readonly crossings?: ReadonlyArray<{
    /** Percent. */
    readonly threshold: number
    /** When the event was emitted. Null: not crossed. */
    readonly crossed_at: string | null
  }> | undefined
  /** Only with `per`. The figures beside it are those of all groups together; their percentages are null, because the ceiling is one of each group. */
  readonly groups?: {
    /** Groups with calls in the period. */
    readonly count: number
    /** By threshold: how many groups have crossed it. */
    readonly crossed: ReadonlyArray<{
      readonly threshold: number
      readonly count: number
    }>
    /** The ten groups that cost most; all are in `/groups`. */
    readonly top: readonly BudgetGroup[]
  } | undefined
}

export interface BudgetGroup {
  /** Value of the dimension `per`. */
  readonly value: string
  /** Cost of the matching calls of the period so far. Exact. */
  readonly spent_usd: string
  /** Of the ceiling, cut to two decimals: below 100.00 until the ceiling is reached. */
  readonly percent: string | null
  /** Run rate: `spent_usd` × length of the period ÷ time elapsed, rounded half to even to six decimals. Null until 1/24 of the period has passed (one hour of a day, 30 hours of a month of 30 days). */
  readonly forecast_usd: string | null
  /** The forecast in percent of the ceiling, cut to two decimals. */
  readonly forecast_percent: string | null
  /** The thresholds, ascending. A crossing stays for the rest of the period, also when a correction lowers the spend again. */
  readonly crossings: ReadonlyArray<{
    /** Percent. */
    readonly threshold: number
    /** When the event was emitted. Null: not crossed. */
    readonly crossed_at: string | null
  }>
}

export interface BudgetTestEvent {
  readonly event_id: string
  readonly type: 'attribution.materialized' | 'attribution.disputed' | 'attribution.override.applied' | 'coverage.degraded' | 'coverage.restored' | 'degradation.state.changed' | 'export.completed' | 'export.failed' | 'anomaly.detected' | 'budget.threshold.crossed' | 'connector.health.changed' | 'apikey.rotated' | 'webhook.verification' | 'capacity.warning' | 'budget.threshold.custom' | 'price.missing' | 'settings.change.scheduled' | 'attribution.merged' | 'export.schedule.late' | 'ingestion.backlog'
  readonly threshold: number
}

/** The connector of the credential. */
export interface OwnConnector {
  readonly id: string
  readonly tenant_id: string
  readonly name: string
  readonly scopes: ReadonlyArray<'read:attribution' | 'read:reporting' | 'export:create' | 'webhooks:manage' | 'admin:config'>
  readonly source_systems: readonly string[]
  readonly residency_lane: string | null
  readonly health: ConnectorHealth
}

export interface HealthReport {
  readonly status: 'healthy' | 'degraded' | 'failing'
  /** A code of the connector's choice, not free text. */
  readonly reason?: string | null | undefined
}

export interface PartnerInvocationEvent {
  /** UUID that the producer assigns to the event. Events are deduplicated by it: one event_id is admitted once in seven days. Retries keep it. */
  readonly event_id: string
  /** One of the connector's source systems. */
  readonly ingestion_layer: string
  /** Time of the call: RFC 3339 in UTC, from 1970 to at most 24 hours after arrival. Prices, report periods and freshness refer to it. */
  readonly ingestion_timestamp: string
  /** Provider that sold the call, such as `openai` or `anthropic`. */
  readonly provider: string
  /** Model that the caller requested, as named in the request. */
  readonly requested_model: string
  /** Model that answered, as named in the response. Default: requested_model. */
  readonly served_model?: string | null | undefined
  /** Number of all input tokens, including those read from and written to the provider's prompt cache, audio and image tokens. Absent means unknown, not zero. */
  readonly input_tokens?: number | null | undefined
  /** Number of all output tokens, including reasoning, audio and image tokens. Absent means unknown, not zero. */
  readonly output_tokens?: number | null | undefined
  /** Number of input tokens read from the provider's prompt cache; part of input_tokens. */
  readonly cached_input_tokens?: number | null | undefined
  /** Number of all input tokens written to the provider's prompt cache, for any lifetime; part of input_tokens. Default: the sum of cache_write_5m_tokens and cache_write_1h_tokens, if one of them is stated. */
  readonly cache_write_tokens?: number | null | undefined
  /** Lifetime of the prompt-cache entry that this call wrote, in seconds. It selects the price of the cache_write_tokens that the two counters by lifetime do not contain. */
  readonly cache_write_ttl_seconds?: number | null | undefined
  /** Number of input tokens written to the prompt cache for five minutes, such as `cache_creation.ephemeral_5m_input_tokens` of Anthropic; part of cache_write_tokens. */
  readonly cache_write_5m_tokens?: number | null | undefined
  /** Number of input tokens written to the prompt cache for one hour, such as `cache_creation.ephemeral_1h_input_tokens` of Anthropic; part of cache_write_tokens. */
  readonly cache_write_1h_tokens?: number | null | undefined
  /** Number of reasoning (thinking) tokens; part of output_tokens. */
  readonly reasoning_tokens?: number | null | undefined
  /** Number of audio input tokens; part of input_tokens. */
  readonly audio_input_tokens?: number | null | undefined
  /** Number of audio output tokens; part of output_tokens. */
  readonly audio_output_tokens?: number | null | undefined
  /** Number of image input tokens; part of input_tokens. */
  readonly image_input_tokens?: number | null | undefined
  /** Number of image output tokens; part of output_tokens. */
  readonly image_output_tokens?: number | null | undefined
  /** Number of web searches that the provider ran for this call and charges for, such as `server_tool_use.web_search_requests` of Anthropic. Without a fee for them, the call is unpriced. */
  readonly web_search_calls?: number | null | undefined
  /** Number of searches of stored files that the provider ran for this call and charges for. Without a fee for them, the call is unpriced. */
  readonly file_search_calls?: number | null | undefined
  /** Number of code executions that the provider ran for this call and charges for each. Without a fee for them, the call is unpriced. */
  readonly code_execution_calls?: number | null | undefined
  /** Service tier that served the call, as the provider's response states it, not the one that was requested; it selects the price. `default` is the same as `standard`. */
  readonly service_tier?: 'standard' | 'batch' | 'flex' | 'priority' | 'default' | 'scale' | 'priority_on_demand' | 'flex_discount' | null | undefined
  /** True if the caller's own response cache answered and nothing was bought from the provider: the cost is then 0. */
  readonly served_from_cache?: boolean | null | undefined
  /** Cloud region in which the call was made, as the provider names it. If it differs from the tenant's residency region, the record's export_eligibility is residency_restricted. */
  readonly region?: string | null | undefined
  /** Cost of the call in USD as the producer computed it: a decimal string. It takes precedence over price overrides and the price book. */
  readonly estimated_cost_usd?: string | null | undefined
  /** True if nobody is billed for the call, such as one that a subscription covers: the cost of its record is then 0, and its export_eligibility notional. estimated_cost_usd is kept and shown beside it. */
  readonly is_cost_notional?: boolean | null | undefined
  /** Duration of the call in milliseconds. */
  readonly latency_ms?: number | null | undefined
  /** The provider's id of the response, such as `chatcmpl-...` or `msg_...`. A call that two sources show with the same provider and response_id is one record (setting `merge_seen_calls`). */
  readonly response_id?: string | null | undefined
  /** How well the token counts are known: `reported` by the provider, `partial` (as of an interrupted stream), `estimated` by the producer, or `unknown`. Default: `unknown` if neither input_tokens nor output_tokens is stated, else `partial` for a cancelled call and `reported` for any other. */
  readonly usage_basis?: 'reported' | 'partial' | 'estimated' | 'unknown' | null | undefined
  /** How the call ended: `success`, `error`, or `cancelled` before its end, as an interrupted stream. Absent means unknown. */
  readonly outcome?: 'success' | 'error' | 'cancelled' | null | undefined
  /** Identity that made the call, such as a user or a service account. Records keep only a keyed hash of it. */
  readonly attributed_identity?: string | null | undefined
  /** Service that made the call. If the directory knows it, the call is attributed to it. */
  readonly attributed_service?: string | null | undefined
  /** Id of the trace or agent workflow that the call belongs to; it correlates the calls of one workflow. */
  readonly trace_id?: string | null | undefined
  /** Id of the span of this call within trace_id. A call that two sources show with the same trace_id and span_id is one record. */
  readonly span_id?: string | null | undefined
  /** Id of the span within trace_id that made the call. */
  readonly parent_span_id?: string | null | undefined
  /** Producer's confidence in attributed_identity and attributed_service, a number from 0 to 0.95. It caps the record's confidence. */
  readonly attribution_confidence?: number | null | undefined
  /** At most 16 key-value pairs that describe the call, for example `team` or `environment`. Keys have at most 64 bytes, values at most 256; keys under which prompts or completions travel are refused. */
  readonly tags?: { readonly [name: string]: string } | null | undefined
  /** Kubernetes namespace of the calling workload. */
  readonly k8s_namespace?: string | null | undefined
  /** Kubernetes workload (such as the Deployment or Job) that made the call. */
  readonly k8s_workload?: string | null | undefined
  /** Workload identity of the caller, such as its SPIFFE ID. */
  readonly workload_identity?: string | null | undefined
  /** Energy that the caller measured for the call, in watt-hours: a decimal string. Absent: the service models it. */
  readonly energy_wh?: string | null | undefined
  /** Emissions that the caller measured for the call, in grams of CO2 equivalent: a decimal string. Absent: the service models them. */
  readonly carbon_gco2e?: string | null | undefined
}

export interface Webhook {
  readonly id: string
  readonly url: string
  readonly events: ReadonlyArray<'attribution.materialized' | 'attribution.disputed' | 'attribution.override.applied' | 'coverage.degraded' | 'coverage.restored' | 'degradation.state.changed' | 'export.completed' | 'export.failed' | 'anomaly.detected' | 'budget.threshold.crossed' | 'connector.health.changed' | 'apikey.rotated' | 'webhook.verification' | 'capacity.warning' | 'budget.threshold.custom' | 'price.missing' | 'settings.change.scheduled' | 'attribution.merged' | 'export.schedule.late' | 'ingestion.backlog'>
  readonly status: 'pending' | 'verified'
  readonly residency_region: string | null
  readonly created_at: string
  readonly verified_at: string | null
  /** When the newest secret was created. */
  readonly secret_rotated_at: string
  /** Until then, deliveries are also signed with the previous secret. */
  readonly previous_secret_expires_at: string | null
  readonly health: WebhookHealth
}

/** State of the latest deliveries, up to a few seconds old. */
export interface WebhookHealth {
  /** `failing`: the last attempt was not acknowledged. */
  readonly status: 'unknown' | 'healthy' | 'failing'
  readonly consecutive_failures: number
  readonly last_success_at: string | null
  readonly last_failure_at: string | null
  readonly last_failure: {
    readonly reason: 'status' | 'wrong_challenge' | 'timeout' | 'connection' | 'tls' | 'unresolved' | 'disallowed_address' | 'residency_blocked' | 'expired'
    readonly response_status: number | null
  } | null
}

export interface NewWebhook {
  /** https, on an allowed port, of a host with public addresses only. */
  readonly url: string
  readonly events: ReadonlyArray<'attribution.materialized' | 'attribution.disputed' | 'attribution.override.applied' | 'coverage.degraded' | 'coverage.restored' | 'degradation.state.changed' | 'export.completed' | 'export.failed' | 'anomaly.detected' | 'budget.threshold.crossed' | 'connector.health.changed' | 'apikey.rotated' | 'webhook.verification' | 'capacity.warning' | 'budget.threshold.custom' | 'price.missing' | 'settings.change.scheduled' | 'attribution.merged' | 'export.schedule.late' | 'ingestion.backlog'>
  /** Region of the receiver. Default: the tenant's region; null: unknown. */
  readonly residency_region?: string | null | undefined
}

export interface WebhookWithSecret {
  readonly id: string
  readonly url: string
  readonly events: ReadonlyArray<'attribution.materialized' | 'attribution.disputed' | 'attribution.override.applied' | 'coverage.degraded' | 'coverage.restored' | 'degradation.state.changed' | 'export.completed' | 'export.failed' | 'anomaly.detected' | 'budget.threshold.crossed' | 'connector.health.changed' | 'apikey.rotated' | 'webhook.verification' | 'capacity.warning' | 'budget.threshold.custom' | 'price.missing' | 'settings.change.scheduled' | 'attribution.merged' | 'export.schedule.late' | 'ingestion.backlog'>
  readonly status: 'pending' | 'verified'
  readonly residency_region: string | null
  readonly created_at: string
  readonly verified_at: string | null
  /** When the newest secret was created. */
  readonly secret_rotated_at: string
  /** Until then, deliveries are also signed with the previous secret. */
  readonly previous_secret_expires_at: string | null
  readonly health: WebhookHealth
  /** Key of the signature of deliveries, to be used as is, including its prefix. Shown only once. */
  readonly signing_secret: string
}

export interface WebhookChanges {
  readonly events: ReadonlyArray<'attribution.materialized' | 'attribution.disputed' | 'attribution.override.applied' | 'coverage.degraded' | 'coverage.restored' | 'degradation.state.changed' | 'export.completed' | 'export.failed' | 'anomaly.detected' | 'budget.threshold.crossed' | 'connector.health.changed' | 'apikey.rotated' | 'webhook.verification' | 'capacity.warning' | 'budget.threshold.custom' | 'price.missing' | 'settings.change.scheduled' | 'attribution.merged' | 'export.schedule.late' | 'ingestion.backlog'>
}

export interface WebhookVerification {
  /** The challenge that the receiver got. Without it, a new challenge is sent. */
  readonly challenge?: string | null | undefined
}

/** Exactly one of: an event, a range of sequences, a time range, or the dead letters. */
export interface WebhookReplay {
  readonly event_id?: string | undefined
  readonly from_sequence?: number | undefined
  /** Inclusive. Default: the newest event. */
  readonly to_sequence?: number | undefined
  readonly from?: string | undefined
  /** Exclusive. Default: now. */
  readonly to?: string | undefined
  readonly dead_letters?: true | undefined
}

export interface QueuedReplay {
  readonly webhook_id: string
  readonly status: 'queued'
  readonly selection: {
    readonly event_id?: string | undefined
    readonly from_sequence?: number | undefined
    /** Inclusive. Default: the newest event. */
    readonly to_sequence?: number | undefined
    readonly from?: string | undefined
    /** Exclusive. Default: now. */
    readonly to?: string | undefined
    readonly dead_letters?: true | undefined
  }
}

export interface DeliveryAttempt {
  /** One per event and endpoint, and one more per replay. */
  readonly delivery_id: string
  readonly event_id: string
  readonly event_type: 'attribution.materialized' | 'attribution.disputed' | 'attribution.override.applied' | 'coverage.degraded' | 'coverage.restored' | 'degradation.state.changed' | 'export.completed' | 'export.failed' | 'anomaly.detected' | 'budget.threshold.crossed' | 'connector.health.changed' | 'apikey.rotated' | 'webhook.verification' | 'capacity.warning' | 'budget.threshold.custom' | 'price.missing' | 'settings.change.scheduled' | 'attribution.merged' | 'export.schedule.late' | 'ingestion.backlog'
  readonly sequence: number
  readonly attempt: number
  readonly attempted_at: string
  /** Null: no response. */
  readonly response_status: number | null
  readonly latency_ms: number
  /** `retried`: another attempt follows. `dead_lettered`: this was the last attempt. */
  readonly outcome: 'acknowledged' | 'retried' | 'dead_lettered'
  /** Why the attempt was not acknowledged. */
  readonly reason: 'status' | 'wrong_challenge' | 'timeout' | 'connection' | 'tls' | 'unresolved' | 'disallowed_address' | 'residency_blocked' | 'expired' | null
  readonly next_attempt_at: string | null
  readonly replayed: boolean
}

export interface NewExport {
  readonly format: 'focus'
  readonly period: ExportPeriod
  /** Dimensions that rows are grouped by, in addition to calendar month and provider: those of reports that an eligible record can differ in, and `tags.<key>` of declared tag keys. The coarsest first: a group of too few people is folded into its nearest ancestor with enough, as in reports. Default: owner, service, provider and served_model. `day` gives daily charge periods. `meter` gives one row per kind of token for calls priced by the price book, and implies served_model. */
  readonly group_by?: ReadonlyArray<'provider' | 'owner' | 'service' | 'served_model' | 'requested_model' | 'region' | 'ingestion_layer' | 'pathway_category' | 'output_state' | 'stage_origin' | 'cost_basis' | 'day' | 'meter' | string> | null | undefined
  readonly filters?: readonly ExportFilter[] | null | undefined
  /** Default: csv, compressed with gzip. */
  readonly file_format?: 'csv' | 'parquet' | null | undefined
  /** Default: 1.4. Use 1.2 for tools that still need ProviderName and PublisherName. */
  readonly focus_version?: '1.4' | '1.2' | null | undefined
  /** Columns to include, in the order of the standard. Default: all, but those of dimensions only if rows are grouped by them, and `x_Scope` only with filters. */
  readonly columns?: ReadonlyArray<'BilledCost' | 'BillingAccountId' | 'BillingAccountName' | 'BillingCurrency' | 'BillingPeriodEnd' | 'BillingPeriodStart' | 'ChargeCategory' | 'ChargeClass' | 'ChargeDescription' | 'ChargeFrequency' | 'ChargePeriodEnd' | 'ChargePeriodStart' | 'ConsumedQuantity' | 'ConsumedUnit' | 'ContractedCost' | 'ContractedUnitPrice' | 'EffectiveCost' | 'HostProviderName' | 'InvoiceIssuerName' | 'ListCost' | 'ListUnitPrice' | 'PricingCategory' | 'PricingQuantity' | 'PricingUnit' | 'RegionId' | 'RegionName' | 'ServiceCategory' | 'ServiceName' | 'ServiceProviderName' | 'ServiceSubcategory' | 'SkuId' | 'SkuMeter' | 'SkuPriceDetails' | 'SkuPriceId' | 'SubAccountId' | 'SubAccountName' | 'SubAccountType' | 'Tags' | 'x_CarbonDioxideEquivalentGrams' | 'x_CarbonIsLowerBound' | 'x_CohortSuppressed' | 'x_CostBasis' | 'x_EnergyIsLowerBound' | 'x_EnergyWattHours' | 'x_IngestionLayer' | 'x_InputTokenCount' | 'x_InvocationCount' | 'x_MinimumConfidence' | 'x_OutputState' | 'x_OutputTokenCount' | 'x_PathwayCategory' | 'x_RequestedModelName' | 'x_Scope' | 'x_StageOrigin' | 'ProviderName' | 'PublisherName'> | null | undefined
}

export interface ExportPeriod {
  /** First day, UTC; not after today. */
  readonly from: string
  /** Last day, inclusive; a period has at most 366 days. If it is after today, the manifest marks the period as incomplete. */
  readonly to: string
}

/** The JSON form of `filter[<field>][<operator>]=<value>` of reports. */
export interface ExportFilter {
  /** A dimension of reports, or `tags.<key>` of a declared tag key. */
  readonly field: 'owner' | 'service' | 'provider' | 'served_model' | 'requested_model' | 'pathway_category' | 'ingestion_layer' | 'output_state' | 'confidence_band' | 'stage_origin' | 'export_eligibility' | 'contested' | 'region' | 'cost_basis' | 'pool' | string
  /** As in reports: `owner` takes eq, ne, in, contains; `service` takes eq, ne, in, contains; `provider` takes eq, ne, in, contains; `served_model` takes eq, ne, in, contains; `requested_model` takes eq, ne, in, contains; `pathway_category` takes eq, ne, in; `ingestion_layer` takes eq, ne, in, contains; `output_state` takes eq, ne, in; `confidence_band` takes eq, ne, in; `stage_origin` takes eq, ne, in; `export_eligibility` takes eq, ne, in; `contested` takes eq, ne, in, contains; `region` takes eq, ne, in, contains; `cost_basis` takes eq, ne, in; `pool` takes eq, ne, in, contains; tags take eq, ne, in, contains. `contains` ignores case, the others do not. */
  readonly operator: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'in' | 'contains'
  /** One value; for `in` one or more, of which a record must have one. Empty: calls without the tag. */
  readonly values: readonly string[]
}

export interface CreatedExportJob {
  readonly job_id: string
  readonly status: 'queued'
  /** Path of the job. */
  readonly status_url: string
}

export interface ExportJob {
  readonly job_id: string
  /** `expired`: the job succeeded and its files were deleted after 7 days. */
  readonly status: 'queued' | 'running' | 'succeeded' | 'failed' | 'expired'
  readonly status_url: string
  readonly created_at: string
  readonly finished_at: string | null
  readonly format: 'focus'
  readonly period: {
    readonly from: string
    readonly to: string
  }
  /** The effective grouping, the coarsest first; `provider` is always included. */
  readonly group_by: ReadonlyArray<'provider' | 'owner' | 'service' | 'served_model' | 'requested_model' | 'region' | 'ingestion_layer' | 'pathway_category' | 'output_state' | 'stage_origin' | 'cost_basis' | 'day' | 'meter' | string>
  /** The filters of the request, in its order. */
  readonly filters: ReadonlyArray<{
    readonly field: 'owner' | 'service' | 'provider' | 'served_model' | 'requested_model' | 'pathway_category' | 'ingestion_layer' | 'output_state' | 'confidence_band' | 'stage_origin' | 'export_eligibility' | 'contested' | 'region' | 'cost_basis' | 'pool' | string
    readonly operator: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'in' | 'contains'
    readonly values: readonly string[]
  }>
  readonly suppressed?: SuppressedExportFilters | undefined
  readonly file_format: 'csv' | 'parquet'
  readonly focus_version: '1.4' | '1.2'
  readonly progress: {
    readonly percent: number
  }
  /** Why the job failed; null unless it failed. */
  readonly failure: {
    readonly reason: 'residency_blocked' | 'residency_unknown' | 'cohorts_unknown' | 'floor_unknown' | 'totals_differ' | 'store_unavailable' | 'files_unavailable' | 'internal_error'
    readonly detail: string
  } | null
  /** Number of rows in the file; null until the file is ready. */
  readonly rows: number | null
  /** When the files are deleted. */
  readonly files_expire_at: string | null
}

/** Only where the filters select fewer people than `min_cohort`: filters were dropped, the last first, until they selected enough. The file is that of the larger group. */
export interface SuppressedExportFilters {
  readonly reason: 'cohort_too_small'
  readonly asked: ReadonlyArray<{
    readonly field: 'owner' | 'service' | 'provider' | 'served_model' | 'requested_model' | 'pathway_category' | 'ingestion_layer' | 'output_state' | 'confidence_band' | 'stage_origin' | 'export_eligibility' | 'contested' | 'region' | 'cost_basis' | 'pool' | string
    readonly operator: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'in' | 'contains'
    readonly values: readonly string[]
  }>
  /** The filters that the file and its totals obey. */
  readonly applied: ReadonlyArray<{
    readonly field: 'owner' | 'service' | 'provider' | 'served_model' | 'requested_model' | 'pathway_category' | 'ingestion_layer' | 'output_state' | 'confidence_band' | 'stage_origin' | 'export_eligibility' | 'contested' | 'region' | 'cost_basis' | 'pool' | string
    readonly operator: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'in' | 'contains'
    readonly values: readonly string[]
  }>
}

export interface ExportJobWithFiles {
  readonly job_id: string
  /** `expired`: the job succeeded and its files were deleted after 7 days. */
  readonly status: 'queued' | 'running' | 'succeeded' | 'failed' | 'expired'
  readonly status_url: string
  readonly created_at: string
  readonly finished_at: string | null
  readonly format: 'focus'
  readonly period: {
    readonly from: string
    readonly to: string
  }
  /** The effective grouping, the coarsest first; `provider` is always included. */
  readonly group_by: ReadonlyArray<'provider' | 'owner' | 'service' | 'served_model' | 'requested_model' | 'region' | 'ingestion_layer' | 'pathway_category' | 'output_state' | 'stage_origin' | 'cost_basis' | 'day' | 'meter' | string>
  /** The filters of the request, in its order. */
  readonly filters: ReadonlyArray<{
    readonly field: 'owner' | 'service' | 'provider' | 'served_model' | 'requested_model' | 'pathway_category' | 'ingestion_layer' | 'output_state' | 'confidence_band' | 'stage_origin' | 'export_eligibility' | 'contested' | 'region' | 'cost_basis' | 'pool' | string
    readonly operator: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'in' | 'contains'
    readonly values: readonly string[]
  }>
  readonly suppressed?: SuppressedExportFilters | undefined
  readonly file_format: 'csv' | 'parquet'
  readonly focus_version: '1.4' | '1.2'
  readonly progress: {
    readonly percent: number
  }
  /** Why the job failed; null unless it failed. */
  readonly failure: {
    readonly reason: 'residency_blocked' | 'residency_unknown' | 'cohorts_unknown' | 'floor_unknown' | 'totals_differ' | 'store_unavailable' | 'files_unavailable' | 'internal_error'
    readonly detail: string
  } | null
  /** Number of rows in the file; null until the file is ready. */
  readonly rows: number | null
  /** When the files are deleted. */
  readonly files_expire_at: string | null
  /** Signed download URL of the file; every response contains a new one. */
  readonly result_url?: string | undefined
  /** Signed download URL of the manifest. */
  readonly manifest_url?: string | undefined
  /** When the download URLs expire. */
  readonly expires_at?: string | undefined
}

export interface ExportManifest {
  readonly suppressed?: SuppressedExportFilters | undefined
  readonly job_id: string
  readonly tenant_id: string
  readonly created_at: string
  /** The file contains the records as of this time. */
  readonly as_of: string
  readonly period: {
    readonly from: string
    readonly to: string
    readonly is_complete: boolean
  }
  readonly group_by: ReadonlyArray<'provider' | 'owner' | 'service' | 'served_model' | 'requested_model' | 'region' | 'ingestion_layer' | 'pathway_category' | 'output_state' | 'stage_origin' | 'cost_basis' | 'day' | 'meter' | string>
  /** The filters of the request, in its order. */
  readonly filters: ReadonlyArray<{
    readonly field: 'owner' | 'service' | 'provider' | 'served_model' | 'requested_model' | 'pathway_category' | 'ingestion_layer' | 'output_state' | 'confidence_band' | 'stage_origin' | 'export_eligibility' | 'contested' | 'region' | 'cost_basis' | 'pool' | string
    readonly operator: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'in' | 'contains'
    readonly values: readonly string[]
  }>
  /** Fields of the filters that were dropped; see `suppressed`. */
  readonly widened_filters: readonly string[]
  /** `parent`: the file is that of a larger group than the filters asked for; see `suppressed`. */
  readonly scope: 'requested' | 'parent'
  readonly file: {
    readonly name: string
    readonly format: 'csv' | 'parquet'
    readonly compression: 'gzip' | 'none'
    readonly media_type: string
    readonly bytes: number
    readonly sha256: string
    readonly rows: number
  }
  readonly totals: {
    readonly billed_cost: string
    readonly effective_cost: string
    readonly list_cost: string
    readonly contracted_cost: string
    readonly energy_wh: string
    /** Whether energy is unknown for some of the calls. */
    readonly energy_is_lower_bound: boolean
    readonly carbon_gco2e: string
    /** Whether carbon is unknown for some of the calls. */
    readonly carbon_is_lower_bound: boolean
    readonly invocations: number
  }
  readonly exported: {
    readonly count: number
    readonly cost_usd: string
  }
  readonly left_out: ReadonlyArray<{
    readonly count: number
    readonly cost_usd: string
    readonly reason: string
  }>
  /** Everything in the period that the applied filters select: exported and left out. */
  readonly everything: {
    readonly count: number
    readonly cost_usd: string
  }
  readonly cohorts: {
    /** `min_cohort` of the tenant when the job started. */
    readonly k: number
    readonly groups_folded: number
    readonly rows_of_folded_groups: number
  }
  readonly delivery: {
    readonly mode: 'Overwrite'
    readonly correction: 'Replacement'
    readonly scope: string
  }
  readonly fields_left_out: { readonly [name: string]: string }
  /** FOCUS metadata of the file. */
  readonly focus: { readonly [name: string]: unknown }
}

export interface ExportSchedule {
  readonly id: string
  readonly name: string
  readonly status: 'active' | 'paused'
  readonly cadence: 'daily' | 'monthly'
  readonly format: 'focus'
  readonly group_by: ReadonlyArray<'provider' | 'owner' | 'service' | 'served_model' | 'requested_model' | 'region' | 'ingestion_layer' | 'pathway_category' | 'output_state' | 'stage_origin' | 'cost_basis' | 'day' | 'meter' | string>
  /** The filters of the request, in its order. */
  readonly filters: ReadonlyArray<{
    readonly field: 'owner' | 'service' | 'provider' | 'served_model' | 'requested_model' | 'pathway_category' | 'ingestion_layer' | 'output_state' | 'confidence_band' | 'stage_origin' | 'export_eligibility' | 'contested' | 'region' | 'cost_basis' | 'pool' | string
    readonly operator: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'in' | 'contains'
    readonly values: readonly string[]
  }>
  readonly file_format: 'csv' | 'parquet'
  readonly focus_version: '1.4' | '1.2'
  readonly columns: readonly string[]
  readonly destination: ExportDestination
  readonly created_at: string
  /** The newest one. Null: nothing is delivered yet. */
  readonly last_delivery: {
    readonly period: string
    readonly revision: number
    readonly delivered_at: string
    /** Key of its manifest in the bucket. */
    readonly manifest_key: string
  } | null
  /** The periods that are due and not delivered, oldest first. */
  readonly pending: ReadonlyArray<{
    readonly period: string
    readonly revision: number
    readonly due_at: string
    /** Failed attempts so far. */
    readonly failures: number
    /** Why the last attempt failed. */
    readonly reason: 'export_failed' | 'residency_blocked' | 'address_not_allowed' | 'host_unresolved' | 'access_denied' | 'no_such_bucket' | 'redirected' | 'tls' | 'timeout' | 'connection' | 'bucket_error' | 'files_unavailable' | null
    readonly next_attempt_at: string
  }>
}

/** Without its secret access key, which is never returned. */
export interface ExportDestination {
  readonly endpoint: string
  readonly region: string
  readonly bucket: string
  readonly prefix: string
  readonly path_style: boolean
  readonly access_key_id: string
}

export interface NewExportSchedule {
  readonly format: 'focus'
  /** Dimensions that rows are grouped by, in addition to calendar month and provider: those of reports that an eligible record can differ in, and `tags.<key>` of declared tag keys. The coarsest first: a group of too few people is folded into its nearest ancestor with enough, as in reports. Default: owner, service, provider and served_model. `day` gives daily charge periods. `meter` gives one row per kind of token for calls priced by the price book, and implies served_model. */
  readonly group_by?: ReadonlyArray<'provider' | 'owner' | 'service' | 'served_model' | 'requested_model' | 'region' | 'ingestion_layer' | 'pathway_category' | 'output_state' | 'stage_origin' | 'cost_basis' | 'day' | 'meter' | string> | null | undefined
  readonly filters?: readonly ExportFilter[] | null | undefined
  /** Default: csv, compressed with gzip. */
  readonly file_format?: 'csv' | 'parquet' | null | undefined
  /** Default: 1.4. Use 1.2 for tools that still need ProviderName and PublisherName. */
  readonly focus_version?: '1.4' | '1.2' | null | undefined
  /** Columns to include, in the order of the standard. Default: all, but those of dimensions only if rows are grouped by them, and `x_Scope` only with filters. */
  readonly columns?: ReadonlyArray<'BilledCost' | 'BillingAccountId' | 'BillingAccountName' | 'BillingCurrency' | 'BillingPeriodEnd' | 'BillingPeriodStart' | 'ChargeCategory' | 'ChargeClass' | 'ChargeDescription' | 'ChargeFrequency' | 'ChargePeriodEnd' | 'ChargePeriodStart' | 'ConsumedQuantity' | 'ConsumedUnit' | 'ContractedCost' | 'ContractedUnitPrice' | 'EffectiveCost' | 'HostProviderName' | 'InvoiceIssuerName' | 'ListCost' | 'ListUnitPrice' | 'PricingCategory' | 'PricingQuantity' | 'PricingUnit' | 'RegionId' | 'RegionName' | 'ServiceCategory' | 'ServiceName' | 'ServiceProviderName' | 'ServiceSubcategory' | 'SkuId' | 'SkuMeter' | 'SkuPriceDetails' | 'SkuPriceId' | 'SubAccountId' | 'SubAccountName' | 'SubAccountType' | 'Tags' | 'x_CarbonDioxideEquivalentGrams' | 'x_CarbonIsLowerBound' | 'x_CohortSuppressed' | 'x_CostBasis' | 'x_EnergyIsLowerBound' | 'x_EnergyWattHours' | 'x_IngestionLayer' | 'x_InputTokenCount' | 'x_InvocationCount' | 'x_MinimumConfidence' | 'x_OutputState' | 'x_OutputTokenCount' | 'x_PathwayCategory' | 'x_RequestedModelName' | 'x_Scope' | 'x_StageOrigin' | 'ProviderName' | 'PublisherName'> | null | undefined
  readonly name: string
  /** One file per day, or per calendar month; both in UTC, as FOCUS has billing periods. */
  readonly cadence: 'daily' | 'monthly'
  readonly destination: NewExportDestination
}

export interface NewExportDestination {
  /** https URL of an S3-compatible store, without a path. Default: AWS S3 in the region. Only public addresses, as for webhooks, are called. */
  readonly endpoint?: string | null | undefined
  /** Region of the bucket. It must be the tenant's `residency_region`, if it has one. */
  readonly region: string
  readonly bucket: string
  /** Prefix of all keys. */
  readonly prefix?: string | null | undefined
  /** Whether the bucket is in the path of URLs instead of the host name. Default: false. */
  readonly path_style?: boolean | null | undefined
  readonly access_key_id: string
  /** Sealed at rest, and never returned. */
  readonly secret_access_key: string
}

export interface ExportScheduleChanges {
  readonly name?: string | undefined
  /** `paused`: nothing is delivered; what is missed is delivered later, as far as it is still kept. */
  readonly status?: 'active' | 'paused' | undefined
  /** Replaces the destination as a whole, its secret too. */
  readonly destination?: NewExportDestination | undefined
}

export interface ExportScheduleRun {
  /** A closed day or month that is still looked after. Default: the newest. */
  readonly period?: string | null | undefined
}

export interface RequestedExportScheduleRun {
  readonly schedule_id: string
  readonly period: string
}

export interface ExportScheduleTest {
  readonly status: 'succeeded' | 'failed'
  /** Null if it succeeded. */
  readonly reason: 'export_failed' | 'residency_blocked' | 'address_not_allowed' | 'host_unresolved' | 'access_denied' | 'no_such_bucket' | 'redirected' | 'tls' | 'timeout' | 'connection' | 'bucket_error' | 'files_unavailable' | null
  /** HTTP status of a failure; null: no response. */
  readonly response_status: number | null
  /** Whether the probe was deleted again: a schedule itself only needs s3:PutObject. */
  readonly probe_removed: boolean
}

export interface RateLimit {
  readonly route_class: 'ingest' | 'read' | 'report' | 'control' | 'token'
  /** Sustained rate per second. */
  readonly limit: number
  /** Maximum burst. */
  readonly burst: number
  /** Currently available. */
  readonly remaining: number
  /** Whole seconds until `remaining` increases; 0 while it equals `burst`. */
  readonly reset_seconds: number
}

export interface LoggedEvent {
  /** The same in every delivery of the event; deduplicate by it. */
  readonly id: string
  readonly type: 'attribution.disputed' | 'attribution.override.applied' | 'coverage.degraded' | 'coverage.restored' | 'degradation.state.changed' | 'export.completed' | 'export.failed' | 'anomaly.detected' | 'budget.threshold.crossed' | 'connector.health.changed' | 'apikey.rotated' | 'capacity.warning' | 'budget.threshold.custom' | 'price.missing' | 'settings.change.scheduled' | 'export.schedule.late' | 'ingestion.backlog'
  readonly created_at: string
  readonly tenant_id: string
  /** Increases within one subscription. */
  readonly sequence: number
  /** Its schema depends on `type`. */
  readonly data: { readonly [name: string]: unknown }
  /** Present when the payload is an attribution result that the tenant can see. */
  readonly interpretation?: {
    readonly stage_origin: 'stage_a' | 'stage_b' | 'stage_c'
    readonly confidence_band: 'chargeback_ready' | 'provisional' | 'estimated'
    readonly degradation_state: 'none' | 'degraded_serving' | 'disabled' | 'model_recalled'
  } | undefined
}

export interface AuditRecord {
  /** Number of the record in the log: 1, 2, 3 and so on without a gap. */
  readonly sequence: number
  readonly tenant_id: string
  readonly created_at: string
  /** Id of the credential, `cli` for the command line, null without authentication. */
  readonly actor: string | null
  readonly action: 'api_key.create' | 'api_key.rotate' | 'api_key.revoke' | 'budget.create' | 'budget.update' | 'budget.test' | 'budget.delete' | 'client.create' | 'client.update' | 'client.rotate_secret' | 'client.delete' | 'connector.create' | 'connector.update' | 'connector.delete' | 'connector.report_health' | 'coverage.update' | 'directory.put' | 'directory.delete' | 'directory.import' | 'export.create' | 'export_schedule.create' | 'export_schedule.update' | 'export_schedule.delete' | 'export_schedule.test' | 'export_schedule.run' | 'export_schedule.deliver' | 'identity.erase' | 'identity_provider.delete' | 'identity_provider.put' | 'master_key.rotate' | 'mapping_rule.create' | 'mapping_rule.update' | 'mapping_rule.delete' | 'mapping_rule.dry_run' | 'mapping_rule.apply' | 'model.train' | 'model.promote' | 'model_name.create' | 'model_name.delete' | 'model.recall' | 'model.restore' | 'audit.head_lost' | 'attribution.dispute' | 'attribution.undo_dispute' | 'attribution.override' | 'attribution.undo_merge' | 'attribution.undo_override' | 'attribution.preview_overrides' | 'attribution.apply_overrides' | 'attribution.undo_overrides' | 'attribution.reattribute' | 'pool.create' | 'pool.update' | 'pool.delete' | 'price_book.import' | 'price.create' | 'price.update' | 'price.delete' | 'quarantine.replay' | 'scim_group.put' | 'scim_group.delete' | 'sql.query' | 'sql_user.create' | 'sql_user.revoke' | 'session.set_up_second_factor' | 'session.sign_in' | 'session.sign_out' | 'settings.apply' | 'settings.cancel' | 'settings.update' | 'signing_key.rotate' | 'backup.create' | 'streams.apply' | 'tenant.create' | 'tenant.update' | 'tenant.delete' | 'token.issue' | 'token.refresh' | 'token.revoke' | 'upgrade.finish' | 'user.create' | 'user.update' | 'user.delete' | 'webhook.create' | 'webhook.update' | 'webhook.delete' | 'webhook.verify' | 'webhook.rotate_secret' | 'webhook.replay'
  /** Id of the object of the action. */
  readonly target: string | null
  /** `refused`: rejected (4xx). `failed`: could not be performed (5xx). */
  readonly outcome: 'succeeded' | 'refused' | 'failed'
  readonly error_code: 'IDEMPOTENCY_KEY_REQUIRED' | 'MALFORMED_REQUEST' | 'INVALID_FILTER' | 'INVALID_CURSOR' | 'INVALID_CREDENTIALS' | 'EXPIRED' | 'STEP_UP_REQUIRED' | 'INSUFFICIENT_SCOPE' | 'TENANT_MISMATCH' | 'DOWNLOAD_URL_INVALID' | 'NOT_FOUND' | 'METHOD_NOT_ALLOWED' | 'CONFLICT' | 'IDEMPOTENCY_IN_PROGRESS' | 'RESIDENCY_BLOCKED' | 'LENGTH_REQUIRED' | 'PAYLOAD_TOO_LARGE' | 'UNSUPPORTED_MEDIA_TYPE' | 'RANGE_NOT_SATISFIABLE' | 'VALIDATION_FAILED' | 'IDEMPOTENCY_CONFLICT' | 'NO_SCOPE' | 'WEBHOOK_URL_REJECTED' | 'RATE_LIMITED' | 'INTERNAL_ERROR' | 'SERVICE_UNAVAILABLE' | null
  readonly trace_id: string
  readonly source_address: string | null
  /** The configuration before and after, without secrets. */
  readonly changes: {
    readonly before?: unknown | undefined
    readonly after?: unknown | undefined
  } | null
  /** Number of equal refusals in quick succession that this record represents. */
  readonly repeats: number
  /** SHA-256 of the hash of the previous record (32 bytes; zeros before the first) and of the RFC 8785 canonical JSON of this record without `hash`. */
  readonly hash: string
}

export interface EventEnvelope {
  /** The same in every delivery of the event; deduplicate by it. */
  readonly id: string
  readonly type: 'attribution.materialized' | 'attribution.disputed' | 'attribution.override.applied' | 'coverage.degraded' | 'coverage.restored' | 'degradation.state.changed' | 'export.completed' | 'export.failed' | 'anomaly.detected' | 'budget.threshold.crossed' | 'connector.health.changed' | 'apikey.rotated' | 'webhook.verification' | 'capacity.warning' | 'budget.threshold.custom' | 'price.missing' | 'settings.change.scheduled' | 'attribution.merged' | 'export.schedule.late' | 'ingestion.backlog'
  readonly created_at: string
  readonly tenant_id: string
  /** Increases within one subscription. */
  readonly sequence: number
  /** Its schema depends on `type`. */
  readonly data: { readonly [name: string]: unknown }
  /** Present when the payload is an attribution result that the tenant can see. */
  readonly interpretation?: {
    readonly stage_origin: 'stage_a' | 'stage_b' | 'stage_c'
    readonly confidence_band: 'chargeback_ready' | 'provisional' | 'estimated'
    readonly degradation_state: 'none' | 'degraded_serving' | 'disabled' | 'model_recalled'
  } | undefined
  /** Present when the event is delivered by a replay. */
  readonly replayed?: true | undefined
}
