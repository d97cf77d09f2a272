/** Of sockets and the look-up of names: the store was not reached, or the connection to it ended. */
const OF_NETWORK: ReadonlySet<unknown> = new Set(
  'ECONNREFUSED ECONNRESET EPIPE ETIMEDOUT EHOSTUNREACH ENETUNREACH ENOTFOUND EAI_AGAIN'.split(' '),
)

/**
 * Whether a store of files gave no answer, or says that it cannot at the moment. Any other failure is no matter of
 * time: the store refuses (its credentials were replaced, say), or the defect is ours.
 */
export function isStoreOfFilesAway(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false
  const status = statusOf(cause) ?? 0
  return (
    status >= 500 ||
    status === 429 ||
    cause.name === 'TimeoutError' ||
    OF_NETWORK.has((cause as { code?: unknown }).code)
  )
}

/** The HTTP status with which a bucket answered; undefined without an answer. */
export function statusOf(cause: unknown): number | undefined {
  const { $metadata, $response } = cause as {
    readonly $metadata?: { readonly httpStatusCode?: number }
    readonly $response?: { readonly statusCode?: number }
  }
  return $metadata?.httpStatusCode ?? $response?.statusCode
}
