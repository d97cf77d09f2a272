import { z } from 'zod'
import { type ErrorCode, PROBLEMS, problem } from '../problems/problem-catalogue.js'
import { REMEDIES } from '../problems/remedies.js'
import type { Operation } from './contract/operation.js'
import { HTML_TYPE, htmlPage, pageHeaders } from './html.js'
import { publicDocument, replyDocument } from './public-document.js'
import type { Route } from './route.js'

const CODES = Object.keys(PROBLEMS) as ErrorCode[]

const GET_ERROR_PAGE: Operation = {
  id: 'getErrorPage',
  tag: 'Contract',
  summary: 'Get the documentation page of an error code',
  parameters: { code: z.enum(CODES).meta({ description: '`error_code` of a problem.', examples: ['RATE_LIMITED'] }) },
  replies: {
    200: { description: 'An HTML page.', contents: { 'text/html': { schema: z.string() } } },
    304: { description: 'Not modified: If-None-Match matches the current ETag.' },
  },
}

/** `GET /docs/errors/{code}`: the page that `type` and `docs_url` of a problem link to. */
export function errorPageRoutes(isHttps: boolean): readonly Route[] {
  const headers = [`Content-Type: ${HTML_TYPE}`, ...pageHeaders(isHttps).map(([name, value]) => `${name}: ${value}`)]
  const pages = new Map<string, ReturnType<typeof publicDocument>>(
    CODES.map((code) => [code, publicDocument(pageOf(code), headers)]),
  )
  return [
    {
      method: 'get',
      path: '/docs/errors/:code',
      access: 'public',
      operation: GET_ERROR_PAGE,
      handle(exchange) {
        const page = pages.get(exchange.parameter)
        if (page === undefined) exchange.replyProblem(problem('NOT_FOUND', 'Unknown error code.'))
        else replyDocument(exchange, page)
      },
    },
  ]
}

function pageOf(code: ErrorCode): string {
  const { status, retryable, title } = PROBLEMS[code]
  return htmlPage(
    code,
    `<p>${title}</p>
<dl>
<dt>HTTP status</dt><dd>${status}</dd>
<dt>Retryable without changes</dt><dd>${retryable ? 'yes' : 'no'}</dd>
<dt>What to do</dt><dd>${REMEDIES[code]}</dd>
</dl>`,
  )
}
