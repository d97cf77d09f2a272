import { z } from 'zod'
import { RATE_CLASSES } from '../auth/rate-limits.js'
import { count, pageOf } from './contract/fields.js'
import { json, type Operation } from './contract/operation.js'
import { LIMIT_DEFAULT, type Page } from './pages.js'
import type { Route } from './route.js'

/** What a caller may still ask for of one class (design section 7). */
const rateLimit = z
  .object({
    route_class: z.enum(RATE_CLASSES),
    limit: z.number().meta({ description: 'Sustained, per second.' }),
    burst: z.number().meta({ description: 'What may come at once.' }),
    remaining: count().meta({ description: 'What may come now.' }),
    reset_seconds: count().meta({ description: 'Whole seconds until `remaining` is `burst` again.' }),
  })
  .meta({ id: 'RateLimit' })

const LIST_RATE_LIMITS: Operation = {
  id: 'listRateLimits',
  tag: 'Limits',
  summary: 'What the caller may still ask for, of every class of routes',
  replies: {
    200: {
      description: 'All of its budgets, on one page.',
      contents: json(pageOf(rateLimit), {
        data: [{ route_class: 'read', limit: 50, burst: 200, remaining: 199, reset_seconds: 1 }],
        page: { limit: LIMIT_DEFAULT, has_more: false },
      }),
    },
  },
}

/** `GET /api/v1/rate-limit`: the caller's budgets, of every class. */
export function rateLimitRoutes(clock: () => number): readonly Route[] {
  return [
    {
      method: 'get',
      path: '/api/v1/rate-limit',
      operation: LIST_RATE_LIMITS,
      access: 'any',
      rateClass: 'control',
      handle(exchange, { budgets }) {
        const nowMs = clock()
        const page: Page<z.infer<typeof rateLimit>> = {
          data: RATE_CLASSES.map((name) => ({
            route_class: name,
            limit: budgets[name].perSecond,
            burst: budgets[name].limit,
            remaining: budgets[name].remaining(nowMs),
            reset_seconds: budgets[name].resetSeconds(nowMs),
          })),
          page: { limit: LIMIT_DEFAULT, has_more: false },
        }
        exchange.replyJson('200 OK', page)
      },
    },
  ]
}
