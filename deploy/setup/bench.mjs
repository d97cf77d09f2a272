/** `npm run bench`: the set-up, then the benchmarks, in this process, with the arguments given. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT, setUp } from './setup.mjs'
import { runSetUpMain } from './steps.mjs'

await runSetUpMain(() => setUp())

const main = join(ROOT, 'dist', 'bench', 'main.js')
process.argv = [process.execPath, main, ...process.argv.slice(2)]
await import(pathToFileURL(main).href)
