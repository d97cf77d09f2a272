export const TOLERANCE_SECONDS: number
export function isSigned(
  body: Uint8Array,
  header: string | undefined,
  secrets: readonly string[],
  nowSeconds?: number,
): boolean
