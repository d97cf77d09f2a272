import { z } from 'zod'
import { RATE_CLASSES, type RateClass } from '../auth/rate-limits.js'
import { count } from '../text/answer-fields.js'
import { json, type Operation } from './contract/operation.js'
import { LIMIT_DEFAULT, PAGE_PARAMETERS, pageOf } from './contract/page.js'
import { pageOfAll, readPage } from './resource/collection.js'
import type { CursorCodec } from './resource/pages.js'
import type { Route } from './route.js'

/** What a caller may still ask for of one class (design section 7). */
const rateLimit = z
  .object({
    route_class: z.enum(RATE_CLASSES),
    limit: z.number().meta({ description: 'Sustained, per second.' }),
    burst: z.number().meta({ description: 'What may come at once.' }),
    remaining: count().meta({ description: 'What may come now.' }),
    reset_seconds: count().meta({
      description: 'Whole seconds until more may come than now; 0 while `remaining` is `burst`.',
    }),
  })
  .meta({ id: 'RateLimit' })

const LIST_RATE_LIMITS: Operation = {
  id: 'listRateLimits',
  tag: 'Limits',
  summary: 'What the caller may still ask for, of every class of routes',
  query: PAGE_PARAMETERS,
  replies: {
    200: {
      description: 'A page of its budgets, one of each class.',
      contents: json(pageOf(rateLimit), {
        data: [{ route_class: 'read', limit: 50, burst: 200, remaining: 199, reset_seconds: 1 }],
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

/** `GET /api/v1/rate-limit`: the caller's budgets, of every class. */
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
            limit: budget.perSecond,
            burst: budget.limit,
            remaining: budget.remaining(nowMs),
            reset_seconds: budget.resetSeconds(nowMs),
          }
        }
        exchange.replyJson('200 OK', pageOfAll(read.request, RATE_CLASSES, placeOf, 'ascending', show))
      },
    },
  ]
}

/** In the order of their list. */
const placeOf = (name: RateClass): readonly string[] => [String(RATE_CLASSES.indexOf(name))]
