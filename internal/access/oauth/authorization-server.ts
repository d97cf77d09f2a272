import type { Route } from '../../http/route.js'
import { authorizeRoutes } from './authorize-routes.js'
import { consoleSessionRoutes } from './console-session-routes.js'
import { metadataRoutes } from './metadata-routes.js'
import type { OAuthDeps } from './oauth-deps.js'
import { type ProviderSignIn, providerRoutes } from './provider-routes.js'
import { signInLimits } from './sign-in-limits.js'
import { tokenRoutes } from './token-routes.js'

/**
 * The authorization server: OAuth 2.0 as restricted by RFC 9700, for confidential and public clients. Its routes are
 * public, since they authenticate the client or the person themselves.
 */
export function oauthRoutes(deps: OAuthDeps, provider: ProviderSignIn): readonly Route[] {
  const limits = signInLimits()
  return [
    ...metadataRoutes(deps),
    ...tokenRoutes(deps),
    ...consoleSessionRoutes(deps),
    ...authorizeRoutes(deps, limits),
    ...providerRoutes(deps, provider, limits),
  ]
}
