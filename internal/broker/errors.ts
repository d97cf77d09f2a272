/** The code that a JetStream error carries: 404 for "no such message", 10xxx for API errors. */
export const brokerErrorCode = (cause: unknown): number | undefined => {
  if (!(cause instanceof Error) || !('code' in cause)) return undefined
  return typeof cause.code === 'number' ? cause.code : undefined
}

/** Another writer was first: the expected revision is no longer the last one, or the key exists. */
export const isLostRace = (cause: unknown): boolean => brokerErrorCode(cause) === 10_071
