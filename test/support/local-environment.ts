/**
 * The environment of the tests without further certificate authorities. Node reads those at each start, for as much
 * processor time as all else of it takes; what a test starts speaks to nobody outside.
 */
export function localEnvironment(): NodeJS.ProcessEnv {
  const { NODE_EXTRA_CA_CERTS: _authorities, ...local } = process.env
  return local
}
