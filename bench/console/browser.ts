import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Browser, chromium } from 'playwright-core'

interface Unpacked {
  readonly path: string
  readonly libraries: string
}

/** The browser of the tests, which the set-up unpacks. @param checkout folder of the repository */
export async function launchBrowser(checkout: string): Promise<Browser> {
  // The set-up is no part of what is compiled.
  const setUp = pathToFileURL(join(checkout, 'deploy', 'setup', 'chromium.mjs')).href
  const { ensureChromium } = (await import(setUp)) as { ensureChromium: (root: string) => Promise<Unpacked> }
  const { path, libraries } = await ensureChromium(checkout)
  return chromium.launch({
    executablePath: path,
    args: ['--no-sandbox'],
    env: { ...process.env, LD_LIBRARY_PATH: libraries } as Record<string, string>,
  })
}
