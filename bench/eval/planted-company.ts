/**
 * The company that is planted on the recorded trace: what its services look like from outside. Fixed before any model
 * was tried on it; the product never sees this file.
 */

export const LAYERS = ['application', 'gateway', 'proxy', 'sidecar'] as const
export type Layer = (typeof LAYERS)[number]

export const MODELS = [
  { provider: 'openai', model: 'gpt-4o-2024-08-06' },
  { provider: 'openai', model: 'gpt-4o-mini' },
  { provider: 'anthropic', model: 'claude-sonnet-4-5-20250929' },
  { provider: 'anthropic', model: 'claude-haiku-4-5-20251001' },
  { provider: 'gemini', model: 'gemini-2.5-flash' },
  { provider: 'mistral', model: 'mistral-large-latest' },
] as const

/**
 * Credentials that the events come with; those of the application layer are separate per service, the others shared.
 */
export const PRINCIPALS = ['web-apps', 'back-office', 'gateway', 'proxy', 'sidecar'] as const
export type PrincipalName = (typeof PRINCIPALS)[number]

export interface PlantedService {
  readonly name: string
  readonly owner: string
  /** Relative weight; what part of the rows it gets also depends on their sizes and times. */
  readonly share: number
  /** Log-normal density in tokens: median, and sigma in nats. */
  readonly input: readonly [median: number, sigma: number]
  readonly output: readonly [median: number, sigma: number]
  /** Relative weight in office hours (Monday to Friday, 8 to 18 UTC), in the other hours of these days, at weekends. */
  readonly times: readonly [office: number, night: number, weekend: number]
  /** In the order of `LAYERS`; sums to 1. */
  readonly layers: readonly [number, number, number, number]
  /** In the order of `MODELS`; sums to 1. */
  readonly models: readonly [number, number, number, number, number, number]
  /** Share of its application events that come with the principal `web-apps`. */
  readonly webApps: number
  /** Its people: numbers from the first on; the k-th of them calls with a weight of 1 / (k + 1). */
  readonly people: readonly [first: number, count: number]
}

/** Never labelled, and in no directory. */
export const SHADOW = 'research-notebooks'

export const COMPANY: readonly PlantedService[] = [
  {
    name: 'support-chat',
    owner: 'team-support',
    share: 0.22,
    input: [600, 0.9],
    output: [150, 0.7],
    times: [1, 0.5, 0.7],
    layers: [0.6, 0.25, 0.1, 0.05],
    models: [0.15, 0.75, 0, 0.1, 0, 0],
    webApps: 0.95,
    people: [0, 30],
  },
  {
    name: 'ide-assistant',
    owner: 'team-developer-tools',
    share: 0.2,
    input: [1800, 0.8],
    output: [12, 0.9],
    times: [1, 0.15, 0.1],
    layers: [0.3, 0.5, 0.1, 0.1],
    models: [0.6, 0.05, 0.35, 0, 0, 0],
    webApps: 0.2,
    people: [20, 40],
  },
  {
    name: 'sales-copilot',
    owner: 'team-sales',
    share: 0.12,
    input: [1000, 0.7],
    output: [280, 0.5],
    times: [1, 0.1, 0.05],
    layers: [0.25, 0.6, 0.1, 0.05],
    models: [0.1, 0.2, 0, 0, 0.7, 0],
    webApps: 0.9,
    people: [25, 20],
  },
  {
    name: 'code-review-bot',
    owner: 'team-developer-tools',
    share: 0.1,
    input: [3500, 0.6],
    output: [60, 1],
    times: [0.8, 0.6, 0.3],
    layers: [0.7, 0.15, 0.1, 0.05],
    models: [0.2, 0, 0.8, 0, 0, 0],
    webApps: 0.1,
    people: [40, 20],
  },
  {
    name: 'internal-helpdesk',
    owner: 'team-it',
    share: 0.12,
    input: [1500, 0.8],
    output: [100, 0.8],
    times: [1, 0.2, 0.2],
    layers: [0.1, 0.15, 0.6, 0.15],
    models: [0, 0.3, 0, 0.1, 0, 0.6],
    webApps: 0.8,
    people: [10, 60],
  },
  {
    name: 'document-search',
    owner: 'team-knowledge',
    share: 0.1,
    input: [4000, 0.5],
    output: [220, 0.6],
    times: [1, 0.4, 0.3],
    layers: [0.15, 0.1, 0.25, 0.5],
    models: [0, 0, 0, 0.45, 0.45, 0.1],
    webApps: 0.7,
    people: [30, 30],
  },
  {
    name: 'migration-agent',
    owner: 'team-platform',
    share: 0.07,
    input: [2500, 0.9],
    output: [350, 0.8],
    times: [0.5, 1, 1],
    layers: [0.1, 0.1, 0.3, 0.5],
    models: [0.2, 0, 0.7, 0.1, 0, 0],
    webApps: 0.1,
    people: [57, 3],
  },
  {
    name: 'batch-labelling',
    owner: 'team-data',
    share: 0.07,
    input: [400, 0.6],
    output: [15, 0.8],
    times: [0.3, 1, 0.8],
    layers: [0.1, 0.1, 0.5, 0.3],
    models: [0, 0.6, 0, 0.25, 0.15, 0],
    webApps: 0.1,
    people: [60, 6],
  },
  {
    name: SHADOW,
    owner: 'team-research',
    share: 0.08,
    input: [2500, 0.8],
    output: [180, 0.9],
    times: [0.6, 0.8, 1],
    layers: [0.15, 0.15, 0.4, 0.3],
    models: [0.4, 0, 0.25, 0, 0, 0.35],
    webApps: 0.4,
    people: [50, 13],
  },
]

/** How labels go missing: whether one is there depends on nothing, or on the layer. */
export interface Withholding {
  readonly name: 'at_random' | 'by_layer'
  /** Share of a layer's events that carry labels, in the order of `LAYERS`. The shadow service's never do. */
  readonly labelled: readonly [number, number, number, number]
  /** Share that states the caller, of labelled events, and of the others by layer. */
  readonly identityIfLabelled: number
  readonly identityIfNot: readonly [number, number, number, number]
}

export const WITHHOLDINGS: readonly Withholding[] = [
  {
    name: 'at_random',
    labelled: [0.6, 0.6, 0.6, 0.6],
    identityIfLabelled: 0.9,
    identityIfNot: [0.3, 0.3, 0.3, 0.3],
  },
  {
    name: 'by_layer',
    labelled: [1, 0.9, 0, 0],
    identityIfLabelled: 0.9,
    identityIfNot: [0.3, 0.3, 0, 0.4],
  },
]

/** The trace's hour is stretched to this many days, so that it has nights and weekends; order and bursts stay. */
export const STRETCHED_DAYS = 21
/** Share of the stretched time, from the start, from which the product learns. Later events are judged. */
export const HISTORY_SHARE = 0.7
/** Share of the history's withheld events that people look at, with audits. */
export const AUDIT_SHARE = 0.05
