import { z } from 'zod'
import { RATE_CLASSES, type RateClass } from '../auth/rate-limits.js'
import { count } from '../text/answer-fields.js'
import { json, type Operation } from './contract/operation.js'
import { LIMIT_DEFAULT, PAGE_PARAMETERS, pageOf } from './contract/page.js'
import { pageOfAll, readPage } from './resource/collection.js'
import type { CursorCodec } from './resource/pages.js'
import type { Route } from './route.js'

/** The caller's rate limit for one route class. */
const rateLimit = z
  .object({
    route_class: z.enum(RATE_CLASSES),
    limit: z.number().meta({ description: 'As `RateLimit-Limit`: requests that may arrive at once.' }),
    per_second: z.number().meta({ description: 'Sustained rate.' }),
    burst: z.number().meta({ description: 'The same as `limit`.' }),
    remaining: count().meta({ description: 'Currently available.' }),
    reset_seconds: count().meta({
      description: 'Whole seconds until `remaining` increases; 0 while it equals `burst`.',
    }),
  })
  .meta({ id: 'RateLimit' })

const LIST_RATE_LIMITS: Operation = {
  id: 'listRateLimits',
  tag: 'Limits',
  summary: 'List the rate limits of the caller, per route class',
  query: PAGE_PARAMETERS,
  replies: {
    200: {
      description: 'A page of rate limits, one per route class.',
      contents: json(pageOf(rateLimit), {
        data: [{ route_class: 'read', limit: 200, per_second: 50, burst: 200, remaining: 199, reset_seconds: 1 }],
        page: { limit: LIMIT_DEFAULT, has_more: false },
      }),
    },
  },
}

const PATH = '/api/v1/rate-limit'

export interface RateLimitRoutesDeps {
  readonly cursors: CursorCodec
  readonly clock: () => number
}

/** `GET /api/v1/rate-limit`: the caller's budget per route class. */
export function rateLimitRoutes(deps: RateLimitRoutesDeps): readonly Route[] {
  return [
    {
      method: 'get',
      path: PATH,
      operation: LIST_RATE_LIMITS,
      access: 'any',
      rateClass: 'control',
      handle(exchange, caller) {
        const read = readPage(exchange, caller, PATH, deps)
        if (!read.ok) return exchange.replyProblem(read.problem)
        const nowMs = deps.clock()
        const show = (name: RateClass): z.infer<typeof rateLimit> => {
          const budget = caller.budgets[name]
          return {
            route_class: name,
            limit: budget.limit,
            per_second: budget.perSecond,
            burst: budget.limit,
            remaining: budget.remaining(nowMs),
            reset_seconds: budget.resetSeconds(nowMs),
          }
        }
        exchange.replyJson('200 OK', pageOfAll(read.request, RATE_CLASSES, rankOf, 'ascending', show))
      },
    },
  ]
}

/** In the order of `RATE_CLASSES`. */
const rankOf = (name: RateClass): readonly string[] => [String(RATE_CLASSES.indexOf(name))]
