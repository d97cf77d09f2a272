/** `npm start`: runs the set-up, then the role `up` in this process, with the same arguments. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT, setUp } from './setup.mjs'
import { runSetUpMain } from './steps.mjs'

const args = process.argv.slice(2)
const isGiven = (/** @type {string} */ flag, /** @type {string} */ variable) =>
  args.some((arg) => arg === flag || arg.startsWith(`${flag}=`)) || Boolean(process.env[variable])

await runSetUpMain(() =>
  setUp({
    ownsNats: !isGiven('--nats-url', 'ATTRIBUTION_NATS_URL'),
    ownsStore: !isGiven('--store-url', 'ATTRIBUTION_STORE_URL'),
  }),
)

const main = join(ROOT, 'dist', 'cmd', 'up', 'main.js')
process.argv = [process.execPath, main, ...args]
await import(pathToFileURL(main).href)
