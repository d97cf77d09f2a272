/** `npm run build`: packages and build, for an image or a machine whose nats-server and ClickHouse are elsewhere. */
import { setUp } from './setup.mjs'
import { runSetUpMain } from './steps.mjs'

await runSetUpMain(() => setUp({ ownsNats: false, ownsStore: false }))
