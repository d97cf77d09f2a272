import { z } from 'zod'
import { json, type Operation } from '../contract/operation.js'
import { publicDocument, replyDocument } from '../public-document.js'
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
 * Adds `GET /openapi.json`, which describes all routes including itself, to an instance's routes. Built once, at start.
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
