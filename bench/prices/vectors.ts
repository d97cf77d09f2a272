/** The calls that are priced for each model. Counts are tokens; parts are included in `input` or `output`. */
export interface Usage {
  readonly input: number
  readonly output: number
  readonly cacheRead?: number
  readonly cacheWrite5m?: number
  readonly cacheWrite1h?: number
  readonly audioInput?: number
  readonly audioOutput?: number
}

export type Tier = 'batch' | 'flex' | 'priority'

export interface Vector {
  readonly name: string
  readonly usage: Usage
  /** Absent: the standard tier. */
  readonly tier?: Tier
}

/**
 * One kind of tokens at a time, so that a difference names the rate. 300,000 tokens exceed every threshold of long
 * context that is in use (128,000 to 272,000); the others stay below all of them but two (32,000).
 */
export const VECTORS = [
  { name: 'input', usage: { input: 100_000, output: 0 } },
  { name: 'output', usage: { input: 0, output: 10_000 } },
  { name: 'cache read', usage: { input: 100_000, output: 0, cacheRead: 100_000 } },
  { name: 'write 5 m', usage: { input: 100_000, output: 0, cacheWrite5m: 100_000 } },
  { name: 'write 1 h', usage: { input: 100_000, output: 0, cacheWrite1h: 100_000 } },
  { name: 'batch', usage: { input: 100_000, output: 10_000 }, tier: 'batch' },
  { name: 'flex', usage: { input: 100_000, output: 10_000 }, tier: 'flex' },
  { name: 'priority', usage: { input: 100_000, output: 10_000 }, tier: 'priority' },
  { name: 'batch cache', usage: { input: 100_000, output: 0, cacheRead: 100_000 }, tier: 'batch' },
  { name: 'flex cache', usage: { input: 100_000, output: 0, cacheRead: 100_000 }, tier: 'flex' },
  { name: 'batch 300,000', usage: { input: 300_000, output: 10_000 }, tier: 'batch' },
  { name: 'flex 300,000', usage: { input: 300_000, output: 10_000 }, tier: 'flex' },
  { name: '300,000', usage: { input: 300_000, output: 10_000 } },
  { name: 'audio in', usage: { input: 10_000, output: 0, audioInput: 10_000 } },
  { name: 'audio out', usage: { input: 0, output: 10_000, audioOutput: 10_000 } },
] as const satisfies readonly Vector[]
export type VectorName = (typeof VECTORS)[number]['name']
