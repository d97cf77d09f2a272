/**
 * Every KV bucket: what a key and a value are, who writes, who watches. Values are JSON text.
 * Writes are compare-and-set wherever two writers could meet.
 */
export interface Bucket {
  readonly name: string
  readonly history: number
  readonly ttlMs?: number
  /** How long the mark stays by which a watched copy learns that an entry has expired; without one it never does. */
  readonly expiryMarkMs?: number
}

/** Where larger things are kept, whole, each under a name. */
export interface ObjectBucket {
  readonly name: string
}

/** `<tenant id>` -> tenant and its settings. Written by the command line and the settings routes; watched by gateway and attributor. */
export const TENANTS = { name: 'tenants', history: 1 } as const satisfies Bucket

/** `<key id>` -> an API key: tenant, scopes, salt and hash of the secret, expiry, status. Watched by gateways: a revocation reaches each in milliseconds. */
export const API_KEYS = { name: 'api_keys', history: 1 } as const satisfies Bucket

/** `<key id>` -> when the key was last used, to within a minute. Written by gateways, at most once a minute a key; watched by them. */
export const API_KEY_USES = { name: 'api_key_uses', history: 1 } as const satisfies Bucket

/** `<client id>` -> an OAuth client: tenant, scopes, grants, redirect addresses, salt and hash of the secret, status. Watched by gateways. */
export const CLIENTS = { name: 'clients', history: 1 } as const satisfies Bucket

/** `<tenant id>.<escaped username>` -> a person who may sign in: scopes, password hash, status. Watched by gateways. */
export const USERS = { name: 'users', history: 1 } as const satisfies Bucket

/** `<mode>` -> the ring of keys that sign access tokens, private parts sealed. Compare-and-set, so that gateways rotate once. Watched by gateways. */
export const TOKEN_KEYS = { name: 'token_keys', history: 1 } as const satisfies Bucket

/** `<hex SHA-256 of the code>` -> an authorization code. Outlives its minute, so that its second use is known as one. */
export const AUTHORIZATION_CODES = {
  name: 'authorization_codes',
  history: 1,
  ttlMs: 10 * 60 * 1000,
} as const satisfies Bucket

/** `<session id>` -> what a person has granted a client, and which refresh token is its newest. Gone when not refreshed for a week. */
export const SESSIONS = { name: 'sessions', history: 1, ttlMs: 7 * 24 * 60 * 60 * 1000 } as const satisfies Bucket

/**
 * `<session id>` or `<jti>` -> whose access tokens are refused before they expire. Stays longer than any of them lives.
 * Watched by gateways: a revocation reaches each in milliseconds.
 */
export const REVOKED_TOKENS = {
  name: 'revoked_tokens',
  history: 1,
  ttlMs: 65 * 60 * 1000,
  expiryMarkMs: 60 * 1000,
} as const satisfies Bucket

/** `<tenant id>.<services|identities|principals|sources>.<escaped name>` -> one entry of the tenant's directory. Watched by attributors and gateways. */
export const DIRECTORY = { name: 'directory', history: 1 } as const satisfies Bucket

/**
 * `<job id>` -> an export job: what was asked, its state, how far it has come, its file. Compare-and-set fences an
 * exporter that has lost it. Watched by gateways and exporters. Gone when nothing has changed for 40 days.
 */
export const JOBS = {
  name: 'jobs',
  history: 1,
  ttlMs: 40 * 24 * 60 * 60 * 1000,
  expiryMarkMs: 60 * 1000,
} as const satisfies Bucket

/** `<tenant id>.<place>` -> the export job that holds one of the places in which a tenant's jobs may run at once. Compare-and-set. Gone when not renewed. */
export const EXPORT_PLACES = { name: 'export_places', history: 1, ttlMs: 15_000 } as const satisfies Bucket

/** `<tenant id>.<price id>` -> a price that the tenant has negotiated. Watched by attributors and gateways. */
export const PRICE_OVERRIDES = { name: 'price_overrides', history: 1 } as const satisfies Bucket

/** `<book id>` -> a price book that was imported: from when on it counts, and the digest of its file. Written by the command line, never changed; watched by attributors. */
export const PRICE_BOOKS = { name: 'price_books', history: 1 } as const satisfies Bucket

/** `<book id>` -> the file of that price book, gzipped. Written once, before the book is. */
export const PRICE_BOOK_FILES = { name: 'price_book_files' } as const satisfies ObjectBucket

/** `<name id>` -> what a name of a tenant's own (a deployment, an inference profile) stands for. Watched by attributors and gateways. */
export const MODEL_NAMES = { name: 'model_names', history: 1 } as const satisfies Bucket

/** `<pool id>` -> a cost pool of a tenant: its owner, and the rules by which calls go to it. Watched by attributors and gateways. */
export const POOLS = { name: 'pools', history: 1 } as const satisfies Bucket

/** `<budget id>` -> a ceiling on a tenant's monthly spend. Watched by gateways and sentinels. */
export const BUDGETS = { name: 'budgets', history: 1 } as const satisfies Bucket

/**
 * `<budget id>.<YYYY-MM>.<threshold>`, or another occasion -> an event that is told once: planned, then told. Compare-and-
 * set, so that several sentinels tell of it together. Gone when the occasion can no longer be seen.
 */
export const ANNOUNCEMENTS = {
  name: 'announcements',
  history: 1,
  ttlMs: 62 * 24 * 60 * 60 * 1000,
} as const satisfies Bucket

/** `<tenant id>.<pathway>` -> whether the pathway's coverage is degraded and which layers it takes to be restored, how often that has changed, and whether the last change was told. Compare-and-set by sentinels. */
export const COVERAGE_STATES = { name: 'coverage_states', history: 1 } as const satisfies Bucket

/** `<tenant id>` -> the newest hour whose spend was looked at, so that none is left out. Compare-and-set by sentinels. */
export const SPEND_LOOKS = { name: 'spend_looks', history: 1 } as const satisfies Bucket

/** `<connector id>` -> a partner that acts for a tenant: scopes, source systems, lane, salt and hash of its secret, status, health. Watched by gateways. */
export const CONNECTORS = { name: 'connectors', history: 1 } as const satisfies Bucket

/**
 * `<model id>` -> a version of a tenant's model: whether it is validated, promoted, recalled, where its artefact lies,
 * and its card. Written by trainers, gateways and the command line; watched by attributors and gateways.
 */
export const MODELS = { name: 'models', history: 1 } as const satisfies Bucket

/** Artefacts of models, each under the name that its version in `models` gives. Written once, by a trainer. */
export const MODEL_ARTEFACTS = { name: 'model_artefacts' } as const satisfies ObjectBucket

/**
 * `<tenant id>` -> how the tenant is served by stage B (spec 2.3, `degradation_state`), and what is wrong with its
 * model. Written and watched by attributors.
 */
export const DEGRADATIONS = { name: 'degradations', history: 1 } as const satisfies Bucket

/** `<model id>.<partition>` -> how a candidate would have answered where another version did. Written by attributors, watched by gateways. */
export const MODEL_SHADOWS = { name: 'model_shadows', history: 1 } as const satisfies Bucket

/** `<tenant id>` -> what was asked of the trainers last, and what came of the last training. Written by trainers and the command line. */
export const TRAININGS = { name: 'trainings', history: 1 } as const satisfies Bucket

/** `<tenant id>` -> which trainer works on the tenant; gone when it no longer says so. */
export const TRAINING_LEASES = { name: 'training_leases', history: 1, ttlMs: 30_000 } as const satisfies Bucket

/** `<webhook id>` -> an endpoint: address, event types, sealed signing secrets and challenge, status. Written by gateways, and by couriers that verify it; watched by both. */
export const WEBHOOKS = { name: 'webhooks', history: 1 } as const satisfies Bucket

/** `<webhook id>` -> how its deliveries went last. Written by the courier that owns it, seldom; watched by gateways, which delete it with its endpoint. */
export const WEBHOOK_HEALTH = { name: 'webhook_health', history: 1 } as const satisfies Bucket

/** `<log>` -> how far couriers have come with it. Apart from `checkpoints`: written some hundred times a second. */
export const DELIVERY_CHECKPOINTS = { name: 'delivery_checkpoints', history: 1 } as const satisfies Bucket

/**
 * `<stage>.<partition>`, or the name of another log -> what is done and what is planned. Compare-and-set fences a stale
 * owner. `fence` -> the newest instant that may have been given out as a snapshot (`records.ts`). Watched by gateways.
 */
export const CHECKPOINTS = { name: 'checkpoints', history: 1 } as const satisfies Bucket

/** `<job id>` -> a job that attributes a window of records again or values it anew, and how far it is. Written by the command line and the changes' reader; compare-and-set. */
export const REATTRIBUTIONS = { name: 'reattributions', history: 1 } as const satisfies Bucket

/**
 * `<hex digest of a quarantined message and its id>` -> that it is being put back into its log, or was. Written by the command
 * line. A repeat after a crash, or a second copy of the message, finds by it what has arrived.
 */
export const QUARANTINE_REPLAYS = {
  name: 'quarantine_replays',
  history: 1,
  ttlMs: 40 * 24 * 60 * 60 * 1000,
} as const satisfies Bucket

/** `<purpose>` -> a secret key, sealed by the master key: ids, cursors, identities. */
export const SIGNING_KEYS = { name: 'signing_keys', history: 1 } as const satisfies Bucket

/** `bulk.<hex of a key's hash>` -> what became of each event of a bulk request, so that a replay gets the same answer. `observation.<hex>`, the same of an observation. `mutation.<operation>.<hex>` -> who works on a mutation, then its sealed answer; compare-and-set. Gone after 24 hours. */
export const IDEMPOTENCY = { name: 'idempotency', history: 1, ttlMs: 24 * 60 * 60 * 1000 } as const satisfies Bucket

/**
 * `<audit log>` -> the last record of a tenant's audit log (its sequence, hash and time), signed: a log that ends before
 * it, or holds another there, was cut or rewritten. Written by the log's one writer.
 */
export const AUDIT_HEADS = { name: 'audit_heads', history: 1 } as const satisfies Bucket

/** `<audit log>.<YYYY-MM-DD>` -> the same as it was at the end of that day. Kept a month longer than the log's records. */
export const AUDIT_DAYS = {
  name: 'audit_days',
  history: 1,
  ttlMs: 430 * 24 * 60 * 60 * 1000,
} as const satisfies Bucket

/** `<role>.<member id>` -> heartbeat of a live process, and which parts of the role's work it does; gone after the TTL. Watched by attributors, who share out partitions by it. */
export const MEMBERS = { name: 'members', history: 1, ttlMs: 5_000 } as const satisfies Bucket

export const BUCKETS: readonly Bucket[] = [
  TENANTS,
  API_KEYS,
  API_KEY_USES,
  CLIENTS,
  USERS,
  TOKEN_KEYS,
  AUTHORIZATION_CODES,
  SESSIONS,
  REVOKED_TOKENS,
  DIRECTORY,
  PRICE_OVERRIDES,
  PRICE_BOOKS,
  MODEL_NAMES,
  POOLS,
  CONNECTORS,
  BUDGETS,
  ANNOUNCEMENTS,
  COVERAGE_STATES,
  SPEND_LOOKS,
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
  REATTRIBUTIONS,
  QUARANTINE_REPLAYS,
  SIGNING_KEYS,
  IDEMPOTENCY,
  AUDIT_HEADS,
  AUDIT_DAYS,
  MEMBERS,
]

export const OBJECT_BUCKETS: readonly ObjectBucket[] = [MODEL_ARTEFACTS, PRICE_BOOK_FILES]
