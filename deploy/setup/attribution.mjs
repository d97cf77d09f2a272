#!/usr/bin/env node
/** The command line as the package's program: `npx attribution` in the checkout, `attribution` after `npm link`. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../../dist/cmd/attribution/main.js', import.meta.url))
if (!existsSync(main)) {
  const folder = fileURLToPath(new URL('../..', import.meta.url))
  process.stderr.write(
    `attribution: the service is not built yet; run "npm start" in ${folder} first, which builds it\n`,
  )
  process.exit(1)
}
const natsServer = fileURLToPath(new URL('../../.local/bin/nats-server', import.meta.url))
if (existsSync(natsServer)) process.env.ATTRIBUTION_NATS_SERVER_BIN ??= natsServer
await import(main)
