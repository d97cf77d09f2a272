/** The dependencies of a server with one public route. */

import type { PublicRoute, Route } from '../../internal/http/route.js'
import type { ServerDeps } from '../../internal/http/server.js'
import { problem } from '../../internal/problems/problem-catalogue.js'

export function publicServer(
  path: string,
  handle: PublicRoute['handle'],
): { readonly routes: readonly Route[]; readonly deps: Omit<ServerDeps, 'log'> } {
  return {
    routes: [
      {
        method: 'get',
        path,
        access: 'public',
        isProbe: true,
        operation: { id: 'test', tag: 'Health', summary: 'For a test', replies: {} },
        handle,
      },
    ],
    deps: {
      authenticator: {
        authenticate: () => ({ ok: false, problem: problem('INVALID_CREDENTIALS', 'Nobody is known here.') }),
        forget: () => undefined,
      },
      credentialsAwayMs: () => 0,
    },
  }
}
