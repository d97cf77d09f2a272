import { expect, test } from 'vitest'
import { consoleRoutes } from '../../../internal/console/console-routes.js'
import { serveRoutes } from '../../support/serve-routes.js'

const BUILT = { document: '<!doctype html><title>Attribution</title>', files: new Map() }

test.each(['/console', '/console/explorer', '/console/t/tnt_one', '/console/t/tnt_one/explorer?record=attr_1'])(
  'the page is at %s',
  async (path) => {
    const { url } = await serveRoutes(consoleRoutes(BUILT, 'http://127.0.0.1', 0))
    const answer = await fetch(url + path)

    expect(answer.status).toBe(200)
    expect(await answer.text()).toBe(BUILT.document)
  },
)
