/**
 * Every KV bucket: its keys and values, who writes them, who watches them. Values are JSON text.
 * Where two writers could write the same key, writes are compare-and-set.
 */
export interface Bucket {
  readonly name: string
  readonly history: number
  readonly ttlMs?: number
  /** How long the marker of an expired entry is kept. Without markers, a KV watch never reports the expiry. */
  readonly expiryMarkMs?: number
}

/** An object store: larger values, each under a name. */
export interface ObjectBucket {
  readonly name: string
}

/**
 * `layout` -> how the streams, buckets and object stores of this broker are laid out: partitions, replicas, sizes,
 * placement. Written by the first process that starts and by the command line, compare-and-set; read by every role at
 * its start, watched by gateways. The history shows the layouts before.
 */
export const LAYOUT = { name: 'layout', history: 10 } as const satisfies Bucket

/**
 * `<tenant id>` -> a tenant and its settings. Written by the command line and the settings routes; watched by gateways
 * and attributors.
 */
export const TENANTS = { name: 'tenants', history: 1 } as const satisfies Bucket

/**
 * `<key id>` -> an API key: tenant, scopes, salt and hash of the secret, expiry, status. Watched by gateways: a
 * revocation reaches each in milliseconds.
 */
export const API_KEYS = { name: 'api_keys', history: 1 } as const satisfies Bucket

/**
 * `<key id>` -> when the key was last used, to within a minute. Written by gateways, at most once per key and minute;
 * watched by gateways.
 */
export const API_KEY_USES = { name: 'api_key_uses', history: 1 } as const satisfies Bucket

/**
 * `<client id>` -> an OAuth client: tenant, scopes, grants, redirect URIs, salt and hash of the secret, status. Watched
 * by gateways.
 */
export const CLIENTS = { name: 'clients', history: 1 } as const satisfies Bucket

/** `<tenant id>.<escaped username>` -> a user who may sign in: scopes, password hash, status. Watched by gateways. */
export const USERS = { name: 'users', history: 1 } as const satisfies Bucket

/**
 * `<tenant id>` -> the OpenID provider of a tenant's people: issuer, client, sealed secret, and what its groups may do.
 * Written by the command line; watched by gateways.
 */
export const IDENTITY_PROVIDERS = { name: 'identity_providers', history: 1 } as const satisfies Bucket

/**
 * `<mode>` -> the key ring that signs access tokens, with private keys sealed. Compare-and-set, so that only one
 * gateway rotates. Watched by gateways.
 */
export const TOKEN_KEYS = { name: 'token_keys', history: 1 } as const satisfies Bucket

/**
 * `<hex SHA-256 of the code>` -> an authorization code. Kept longer than its one minute of validity, so that a second
 * use is detected.
 */
export const AUTHORIZATION_CODES = {
  name: 'authorization_codes',
  history: 1,
  ttlMs: 10 * 60 * 1000,
} as const satisfies Bucket

/** `<session id>` -> a user's grant to a client, and the newest refresh token. Expires a week after a refresh. */
export const SESSIONS = { name: 'sessions', history: 1, ttlMs: 7 * 24 * 60 * 60 * 1000 } as const satisfies Bucket

/**
 * `<session id>` or `<jti>` -> access tokens that are refused before they expire. Kept longer than the lifetime of a
 * token. Watched by gateways: a revocation reaches each in milliseconds.
 */
export const REVOKED_TOKENS = {
  name: 'revoked_tokens',
  history: 1,
  ttlMs: 65 * 60 * 1000,
  expiryMarkMs: 60 * 1000,
} as const satisfies Bucket

/**
 * `<tenant id>.<services|identities|principals|sources>.<escaped name>` -> one entry of the tenant's directory. Watched
 * by attributors and gateways.
 */
export const DIRECTORY = { name: 'directory', history: 1 } as const satisfies Bucket

/**
 * `<import id>` -> an import of a directory: its report, and how far it is. Written by the gateway that carries it out.
 * Expires after a day.
 */
export const DIRECTORY_IMPORTS = {
  name: 'directory_imports',
  history: 1,
  ttlMs: 24 * 60 * 60 * 1000,
} as const satisfies Bucket

/** `<group id>` -> a group made by SCIM: the name of a team. Members name it in `directory`. Watched by gateways. */
export const SCIM_GROUPS = { name: 'scim_groups', history: 1 } as const satisfies Bucket

/**
 * `<job id>` -> an export job: its request, state, progress and file. Compare-and-set fences an exporter that has lost
 * the job. Watched by gateways and exporters. Expires 40 days after the last change.
 */
export const JOBS = {
  name: 'jobs',
  history: 1,
  ttlMs: 40 * 24 * 60 * 60 * 1000,
  expiryMarkMs: 60 * 1000,
} as const satisfies Bucket

/**
 * `<tenant id>.<slot>` -> the export job that holds one of the tenant's slots for concurrent jobs. Compare-and-set.
 * Expires when not renewed.
 */
export const EXPORT_PLACES = { name: 'export_places', history: 1, ttlMs: 15_000 } as const satisfies Bucket

/**
 * `<schedule id>` -> an export schedule: cadence, selection, and the tenant's bucket with its sealed secret. Written by
 * gateways; watched by gateways and exporters.
 */
export const EXPORT_SCHEDULES = { name: 'export_schedules', history: 1 } as const satisfies Bucket

/**
 * `<schedule id>` -> how far a schedule is: the periods that are delivered or pending, and the end of its manifest
 * chain. Written by the exporter that has claimed the schedule, compare-and-set; watched by exporters and gateways.
 */
export const EXPORT_PROGRESS = { name: 'export_progress', history: 1 } as const satisfies Bucket

/** `<tenant id>.<price id>` -> a price that the tenant has negotiated. Watched by attributors and gateways. */
export const PRICE_OVERRIDES = { name: 'price_overrides', history: 1 } as const satisfies Bucket

/**
 * `<book id>` -> an imported price book: the start of its validity, and the digest of its file. Written by the command
 * line, which can only undo it; watched by attributors.
 */
export const PRICE_BOOKS = { name: 'price_books', history: 1 } as const satisfies Bucket

/**
 * `<book id>` -> the gzipped file of a price book. Written once, before the book's entry in `price_books`; likewise of
 * a proposal.
 */
export const PRICE_BOOK_FILES = { name: 'price_book_files' } as const satisfies ObjectBucket

/** `<table id>` -> an imported energy table, as in `price_books`. Watched by attributors. */
export const ENERGY_TABLES = { name: 'energy_tables', history: 1 } as const satisfies Bucket

/** `<table id>` -> the gzipped file of an energy table, as in `price_book_files`. */
export const ENERGY_TABLE_FILES = { name: 'energy_table_files' } as const satisfies ObjectBucket

/**
 * `<proposal id>` -> a price book or an energy table that waits for a person's yes; its file has the same name in the
 * object store of its kind. Written by the command line, which deletes the oldest beyond twenty of a kind.
 */
export const BOOK_PROPOSALS = { name: 'book_proposals', history: 1 } as const satisfies Bucket

/**
 * `<name id>` -> the model behind a tenant's own name (a deployment, an inference profile). Watched by attributors and
 * gateways.
 */
export const MODEL_NAMES = { name: 'model_names', history: 1 } as const satisfies Bucket

/** `<convention id>` -> what the token counts of a tenant's sender mean. Watched by attributors and gateways. */
export const USAGE_CONVENTIONS = { name: 'usage_conventions', history: 1 } as const satisfies Bucket

/** `<pool id>` -> a cost pool: its owner and the rules that assign calls. Watched by attributors and gateways. */
export const POOLS = { name: 'pools', history: 1 } as const satisfies Bucket

/**
 * `<rule id>` -> a tenant's mapping rule: its versions, each with conditions and what calls that meet them are
 * attributed to. Watched by attributors and gateways.
 */
export const MAPPING_RULES = { name: 'mapping_rules', history: 1 } as const satisfies Bucket

/**
 * `<annotation id>` -> a release or a note on the time axis of a tenant's reports. Watched by gateways. Expires when few
 * charts reach back to it.
 */
export const ANNOTATIONS = {
  name: 'annotations',
  history: 1,
  ttlMs: 800 * 24 * 60 * 60 * 1000,
  expiryMarkMs: 60 * 1000,
} as const satisfies Bucket

/** `<budget id>` -> a ceiling on a tenant's spend per period. Watched by gateways and sentinels. */
export const BUDGETS = { name: 'budgets', history: 1 } as const satisfies Bucket

/**
 * `<budget id>.<period>.<part of the groups>` -> when the thresholds of each group were crossed in the period. Written
 * by sentinels by compare-and-set, once the event is emitted; deleted some days after the period, and expire later than
 * any quarter in which they were written. Watched by gateways and sentinels.
 */
export const BUDGET_CROSSINGS = {
  name: 'budget_crossings',
  history: 1,
  ttlMs: 120 * 24 * 60 * 60 * 1000,
} as const satisfies Bucket

/**
 * `<budget id>.<period>[.<group>].<threshold>`, or another cause -> an event that is emitted once: planned, then
 * emitted. Compare-and-set, so that several sentinels emit it only once. Expires when its cause can no longer be
 * detected.
 */
export const ANNOUNCEMENTS = {
  name: 'announcements',
  history: 1,
  ttlMs: 62 * 24 * 60 * 60 * 1000,
} as const satisfies Bucket

/**
 * `<tenant id>.<pathway>` -> whether the pathway's coverage is degraded, which layers must be seen to restore it, the
 * number of changes, and whether the last change was emitted as an event. Compare-and-set by sentinels.
 */
export const COVERAGE_STATES = { name: 'coverage_states', history: 1 } as const satisfies Bucket

/**
 * `<tenant id>.<hour of the epoch>` -> what arrived in that hour and what became of it, by credential, intake and sender.
 * Compare-and-set by gateways, every few seconds. Expires when nobody is shown it any more.
 */
export const RECEIVED = { name: 'received', history: 1, ttlMs: 26 * 60 * 60 * 1000 } as const satisfies Bucket

/**
 * `<tenant id>.<level>` -> an episode in which the log filled up with the tenant's calls: when it began, when it was
 * last seen, and whether the tenant was notified. Compare-and-set by gateways. Expires long after an episode has ended.
 */
export const BACKLOG_EPISODES = {
  name: 'backlog_episodes',
  history: 1,
  ttlMs: 24 * 60 * 60 * 1000,
} as const satisfies Bucket

/**
 * `<tenant id>` -> the newest hour whose spend was checked for anomalies, so that no hour is skipped. Compare-and-set
 * by sentinels.
 */
export const SPEND_LOOKS = { name: 'spend_looks', history: 1 } as const satisfies Bucket

/**
 * `<tenant id>` -> the models whose missing price was announced, so that each is announced once. Compare-and-set by
 * sentinels.
 */
export const MISSING_PRICES = { name: 'missing_prices', history: 1 } as const satisfies Bucket

/**
 * `<connector id>` -> a partner connector that acts for a tenant: scopes, source systems, residency lane, salt and hash
 * of its secret, status, health. Watched by gateways.
 */
export const CONNECTORS = { name: 'connectors', history: 1 } as const satisfies Bucket

/**
 * `<user id>` -> who may read a tenant's records by SQL: salt and hash of the password, expiry, status. Watched by
 * gateways: a revocation reaches each in milliseconds.
 */
export const SQL_USERS = { name: 'sql_users', history: 1 } as const satisfies Bucket

/**
 * `<view id>` -> a view of the console that somebody saved: its name, page and parameters, its owner, and whether the
 * tenant's others see it. Watched by gateways.
 */
export const VIEWS = { name: 'views', history: 1 } as const satisfies Bucket

/**
 * `<model id>` -> a version of a tenant's model: whether it is validated, promoted or recalled, the name of its
 * artefact, and its model card. Written by trainers, gateways and the command line; watched by attributors and
 * gateways.
 */
export const MODELS = { name: 'models', history: 1 } as const satisfies Bucket

/** Model artefacts, each under the name in its version's entry in `models`. Written once, by a trainer. */
export const MODEL_ARTEFACTS = { name: 'model_artefacts' } as const satisfies ObjectBucket

/**
 * `<tenant id>` -> the serving state of stage B for the tenant (`degradation_state` of a record), and the fault of its
 * model. Written and watched by attributors.
 */
export const DEGRADATIONS = { name: 'degradations', history: 1 } as const satisfies Bucket

/**
 * `<model id>.<partition>` -> shadow results: how a candidate would have answered in place of the promoted version.
 * Written by attributors, watched by gateways.
 */
export const MODEL_SHADOWS = { name: 'model_shadows', history: 1 } as const satisfies Bucket

/**
 * `<tenant id>` -> the latest training request, and the result of the latest training. Written by trainers and the
 * command line.
 */
export const TRAININGS = { name: 'trainings', history: 1 } as const satisfies Bucket

/** `<tenant id>` -> the trainer that works on the tenant; expires when the trainer no longer renews it. */
export const TRAINING_LEASES = { name: 'training_leases', history: 1, ttlMs: 30_000 } as const satisfies Bucket

/**
 * `<webhook id>` -> a webhook endpoint: URL, event types, sealed signing secrets and challenge, status. Written by
 * gateways, and by couriers when they verify it; watched by both.
 */
export const WEBHOOKS = { name: 'webhooks', history: 1 } as const satisfies Bucket

/**
 * `<webhook id>` -> the endpoint's delivery health. Written by the courier that owns the endpoint, every few seconds at
 * most; watched by gateways, which delete it with the endpoint.
 */
export const WEBHOOK_HEALTH = { name: 'webhook_health', history: 1 } as const satisfies Bucket

/**
 * `<log>` -> the couriers' checkpoint of that log. Not in `checkpoints`: it is written hundreds of times per second.
 */
export const DELIVERY_CHECKPOINTS = { name: 'delivery_checkpoints', history: 1 } as const satisfies Bucket

/**
 * `<stage>.<partition>`, or the name of another log -> the sequence up to which it is done, and the planned batch.
 * Compare-and-set fences a stale owner. `fence` -> the newest instant that may have been used as a snapshot
 * (`records.ts`). Watched by gateways.
 */
export const CHECKPOINTS = { name: 'checkpoints', history: 1 } as const satisfies Bucket

/**
 * `<job id>` -> a job that re-attributes, revalues or overrides records, and its progress. Written by the command line,
 * gateways and the reader of CHANGES; compare-and-set.
 */
export const REATTRIBUTIONS = { name: 'reattributions', history: 1 } as const satisfies Bucket

/**
 * `<override id>` -> the dry run of a bulk override: what it selects and sets. Written by gateways. Kept a little
 * longer than it can be applied.
 */
export const OVERRIDE_PREVIEWS = {
  name: 'override_previews',
  history: 1,
  ttlMs: 65 * 60 * 1000,
} as const satisfies Bucket

/**
 * `<hex digest of a quarantined message and its id>` -> that its replay has started, or finished. Written by the
 * command line. A retry after a crash, or a second copy of the message, uses it to find the message that was already
 * replayed.
 */
export const QUARANTINE_REPLAYS = {
  name: 'quarantine_replays',
  history: 1,
  ttlMs: 40 * 24 * 60 * 60 * 1000,
} as const satisfies Bucket

/**
 * `<tenant id>.<identity id>` -> a person who was erased: the hash under which records had them, and when. No name. A
 * restored backup from before erases them again (`internal/local/backup/later-changes.ts`). Kept for longer than
 * backups usually are.
 */
export const ERASURES = {
  name: 'erasures',
  history: 1,
  ttlMs: 800 * 24 * 60 * 60 * 1000,
} as const satisfies Bucket

/** `<purpose>` -> one of the instance's secret keys, sealed by the master key (ids, cursors, identities, …). */
export const SIGNING_KEYS = { name: 'signing_keys', history: 1 } as const satisfies Bucket

/**
 * `bulk.<hex of a key's hash>` -> the result of each event of a bulk request, so that a repeat gets the same response.
 * `observation.<hex>` -> the same for an observation. `mutation.<operation>.<hex>` -> the gateway that executes a
 * mutation, then its sealed response; compare-and-set. Expires after 24 hours.
 */
export const IDEMPOTENCY = { name: 'idempotency', history: 1, ttlMs: 24 * 60 * 60 * 1000 } as const satisfies Bucket

/**
 * `<audit log>` -> the last record of a tenant's audit log (its sequence, hash and time), signed. A log that ends
 * before it, or has a different record there, was truncated or rewritten. Written by the log's one writer.
 */
export const AUDIT_HEADS = { name: 'audit_heads', history: 1 } as const satisfies Bucket

/**
 * `<audit log>.<YYYY-MM-DD>` -> the last record at the end of that day, signed likewise. Kept a month longer than the
 * log's records.
 */
export const AUDIT_DAYS = {
  name: 'audit_days',
  history: 1,
  ttlMs: 430 * 24 * 60 * 60 * 1000,
} as const satisfies Bucket

/**
 * `<role>.<member id>` -> heartbeat of a live process, and the parts of the role's work that it does; expires after the
 * TTL. Watched by the processes of the role, which divide its work by it.
 */
export const MEMBERS = { name: 'members', history: 1, ttlMs: 12_000 } as const satisfies Bucket

export const BUCKETS: readonly Bucket[] = [
  LAYOUT,
  TENANTS,
  API_KEYS,
  API_KEY_USES,
  CLIENTS,
  USERS,
  IDENTITY_PROVIDERS,
  TOKEN_KEYS,
  AUTHORIZATION_CODES,
  SESSIONS,
  REVOKED_TOKENS,
  DIRECTORY,
  DIRECTORY_IMPORTS,
  SCIM_GROUPS,
  PRICE_OVERRIDES,
  PRICE_BOOKS,
  ENERGY_TABLES,
  BOOK_PROPOSALS,
  MODEL_NAMES,
  USAGE_CONVENTIONS,
  POOLS,
  MAPPING_RULES,
  CONNECTORS,
  SQL_USERS,
  VIEWS,
  ANNOTATIONS,
  BUDGETS,
  BUDGET_CROSSINGS,
  ANNOUNCEMENTS,
  COVERAGE_STATES,
  RECEIVED,
  BACKLOG_EPISODES,
  SPEND_LOOKS,
  MISSING_PRICES,
  MODELS,
  DEGRADATIONS,
  MODEL_SHADOWS,
  TRAININGS,
  TRAINING_LEASES,
  WEBHOOKS,
  WEBHOOK_HEALTH,
  DELIVERY_CHECKPOINTS,
  CHECKPOINTS,
  JOBS,
  EXPORT_PLACES,
  EXPORT_SCHEDULES,
  EXPORT_PROGRESS,
  REATTRIBUTIONS,
  OVERRIDE_PREVIEWS,
  QUARANTINE_REPLAYS,
  ERASURES,
  SIGNING_KEYS,
  IDEMPOTENCY,
  AUDIT_HEADS,
  AUDIT_DAYS,
  MEMBERS,
]

export const OBJECT_BUCKETS: readonly ObjectBucket[] = [MODEL_ARTEFACTS, PRICE_BOOK_FILES, ENERGY_TABLE_FILES]
