import { drawn } from './run/rings.js'

/** Cases per fuzzing test: 2,000, or ATTRIBUTION_FUZZ_CASES. */
export const FUZZ_CASES = Number(process.env['ATTRIBUTION_FUZZ_CASES'] ?? drawn(2_000))

/** Vitest's limit for such a test. */
export const FUZZ_MS_MAX = 180_000 + FUZZ_CASES * 20
