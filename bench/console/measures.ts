import type { Page } from 'playwright-core'

/** What the browser itself measures: Paint Timing, Event Timing and Resource Timing. */

/** To be called before the page is opened. */
export const observe = (page: Page): Promise<unknown> => page.addInitScript(OBSERVER)

/** In the page: an observer of interactions, and of the moment at which the first chart is in the document. */
const OBSERVER = `{
  const seen = { interactions: {}, chartAt: undefined }
  // The browser keeps 250 of them, fewer than the requests of this run: scripts that come later would not count.
  performance.setResourceTimingBufferSize(100_000)
  globalThis.__seen = seen
  new PerformanceObserver((list) => {
    for (const { interactionId, duration, name } of list.getEntries()) {
      if (!interactionId) continue
      const before = seen.interactions[interactionId]
      if (before === undefined || before.ms < duration) seen.interactions[interactionId] = { ms: duration, name }
    }
  }).observe({ type: 'event', durationThreshold: 16, buffered: true })
  new MutationObserver((_, observer) => {
    if (document.querySelector('[data-chart-total]') === null) return
    observer.disconnect()
    requestAnimationFrame(() => { seen.chartAt = performance.now() })
  }).observe(document, { childList: true, subtree: true })
}`

/** Milliseconds since the navigation to the console, which the sign-in page redirected to. */
export const painted = async (page: Page): Promise<{ first_paint_ms: number; chart_ms: number }> => {
  await page.waitForFunction('globalThis.__seen.chartAt !== undefined')
  return page.evaluate(`({
    first_paint_ms: performance.getEntriesByName('first-contentful-paint')[0].startTime,
    chart_ms: globalThis.__seen.chartAt,
  })`)
}

/** Compressed bytes of the scripts that were loaded so far. */
export const scriptBytes = (page: Page): Promise<number> =>
  page.evaluate(
    `performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.js'))
       .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`,
  )

/**
 * How many rounds of requests for reports there were, one after another (a round ends when its first answer is there),
 * and how many requests. Further pages of one report are a part of its round.
 */
export const roundsOf = (page: Page): Promise<{ rounds: number; reports: number; reports_ms: number }> =>
  page.evaluate(`{
    const asked = performance.getEntriesByType('resource')
      .filter(({ name }) => name.includes('/v1/reports/usage') && !name.includes('cursor='))
      .sort((one, other) => one.startTime - other.startTime)
    let rounds = 0, endsAt = 0
    for (const { startTime, responseEnd } of asked) {
      if (rounds === 0 || startTime >= endsAt) { rounds++; endsAt = responseEnd }
      else endsAt = Math.min(endsAt, responseEnd)
    }
    const lastAt = Math.max(...asked.map((each) => each.responseEnd))
    ;({ rounds, reports: asked.length, reports_ms: lastAt - asked[0].startTime })
  }`)

/** Interaction to next paint: below fifty interactions it is the longest one. */
export async function longestInteraction(page: Page): Promise<{ ms: number; name: string; interactions: number }> {
  return page.evaluate(`{
    const all = Object.values(globalThis.__seen.interactions)
    const longest = all.reduce((most, each) => (each.ms > most.ms ? each : most), { ms: 0, name: 'all under 16 ms' })
    ;({ ...longest, interactions: all.length })
  }`)
}
