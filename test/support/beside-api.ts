/** What a listener beside the API shares with its gateway: one that is ready, and stays. */
export const BESIDE_API = {
  host: '127.0.0.1',
  tlsCertFile: '',
  tlsKeyFile: '',
  health: {
    readiness: () => ({ status: 'ready' as const, dependencies: [] }),
    errorDocsUrl: 'http://localhost/docs/errors',
  },
  leaving: new AbortController().signal,
}
