import { z } from 'zod'
import { json, type Operation } from '../contract/operation.js'
import { type PublicDocument, publicDocument, replyDocument } from '../public-document.js'
import type { Route } from '../route.js'
import { describeRoutes, type Instance } from './document.js'

const GET_DESCRIPTION: Operation = {
  id: 'getOpenApi',
  tag: 'Contract',
  summary: 'Get this OpenAPI description',
  replies: {
    200: {
      description: 'OpenAPI 3.1 document.',
      contents: json(z.looseObject({ openapi: z.string() })),
    },
    304: { description: 'Not modified: If-None-Match matches the current ETag.' },
  },
}

/**
 * Adds `GET /openapi.json`, which describes all routes including itself, to an instance's routes. Built when it is
 * first asked for, once: most gateways are never asked, and building it took a quarter of their start.
 */
export function withDescription(instance: Instance, routes: readonly Route[]): readonly Route[] {
  let document: Promise<PublicDocument> | undefined
  const described: readonly Route[] = [
    ...routes,
    {
      method: 'get',
      path: '/openapi.json',
      access: 'public',
      operation: GET_DESCRIPTION,
      async handle(exchange) {
        const ifNoneMatch = exchange.header('if-none-match')
        document ??= describeRoutes(described, instance).then((description) =>
          publicDocument(JSON.stringify(description), ['Content-Type: application/json']),
        )
        const built = await document
        if (!exchange.isSettled) replyDocument(exchange, built, ifNoneMatch)
      },
    },
  ]
  return described
}
