/** How many cases a fuzzing test tries: 2,000 with every run of the suite, as many as ATTRIBUTION_FUZZ_CASES says on demand. */
export const FUZZ_CASES = Number(process.env['ATTRIBUTION_FUZZ_CASES'] ?? 2_000)

/** Vitest's limit for such a test. */
export const FUZZ_MS_MAX = 60_000 + FUZZ_CASES * 20
