/**
 * The environment of the tests without further certificate authorities. Node reads those at each start, for as much
 * processor time as all else of it takes; what a test starts speaks to nobody outside.
 *
 * Nothing balances requests over the gateways of most tests, which need not wait until it has noticed that they leave.
 */
export function localEnvironment(): NodeJS.ProcessEnv {
  const { NODE_EXTRA_CA_CERTS: _authorities, ...local } = process.env
  return { ATTRIBUTION_DRAIN_SECONDS: '0', ...local }
}
