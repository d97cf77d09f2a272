import { gauge } from './metrics.js'

const BUILD = gauge('build_info', 'What runs: 1, by version, Node and the build of the HTTP parser (gateways only).', [
  'version',
  'node',
  'http',
])

/** Replaces what was set before. @param http empty: the process serves no HTTP */
export function setBuildInfo(version: string, http = ''): void {
  BUILD.reset()
  BUILD.set({ version, node: process.versions.node, http }, 1)
}
