import { z } from 'zod'
import { json, type Operation } from '../contract/operation.js'
import { publicDocument, replyDocument } from '../public-document.js'
import type { Route } from '../route.js'
import { describeRoutes, type Instance } from './document.js'

const GET_DESCRIPTION: Operation = {
  id: 'getOpenApi',
  tag: 'Contract',
  summary: 'This description',
  replies: {
    200: {
      description: 'OpenAPI 3.1.',
      contents: json(z.looseObject({ openapi: z.string() })),
    },
    304: { description: 'The description is the one that the request names by its ETag.' },
  },
}

/**
 * Adds `GET /openapi.json` to an instance's routes: what all of them promise, itself included. Made once, at start.
 */
export function withDescription(instance: Instance, routes: readonly Route[]): readonly Route[] {
  const described: readonly Route[] = [
    ...routes,
    {
      method: 'get',
      path: '/openapi.json',
      access: 'public',
      operation: GET_DESCRIPTION,
      handle: (exchange) => replyDocument(exchange, document),
    },
  ]
  const document = publicDocument(JSON.stringify(describeRoutes(described, instance)), [
    'Content-Type: application/json',
  ])
  return described
}
