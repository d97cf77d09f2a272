import type { IntakeRoute } from '../intake/intake-route.js'
import { jsonRoute } from '../intake/json-source.js'
import { apim } from './apim.js'
import { bedrockLog } from './bedrock-log.js'
import { cloudevents } from './cloudevents.js'
import { envoy } from './envoy.js'
import { kong } from './kong.js'
import { litellm } from './litellm.js'
import { portkey } from './portkey.js'

/** `/intake/<source>`, for gateways and proxies that speak a JSON of their own. */
export const adapterRoutes = (): readonly IntakeRoute[] =>
  [litellm, kong, envoy, portkey, bedrockLog, apim, cloudevents].map(jsonRoute)
