import { z } from 'zod'

/** Every collection's page size. */
export const LIMIT_DEFAULT = 50
export const LIMIT_MAX = 200

/** The envelope of every collection. */
export const pageOf = (record: z.ZodType) => z.object({ data: z.array(record), page: pageInfo })

const pageInfo = z
  .object({
    next_cursor: z.string().optional().meta({ description: 'Absent on the last page.' }),
    limit: z.int().min(1).max(LIMIT_MAX),
    has_more: z.boolean(),
  })
  .meta({ id: 'Page' })

/** The parameters of every collection. */
export const PAGE_PARAMETERS = {
  limit: z.int().min(1).max(LIMIT_MAX).optional().meta({ description: 'Records per page.', default: LIMIT_DEFAULT }),
  cursor: z
    .string()
    .optional()
    .meta({
      description:
        '`next_cursor` of the previous page, for the same query only. Expires after one hour, and at the latest ' +
        'five hours after the snapshot time of the first page.',
    }),
} as const

/** Characters: no name has more. */
export const CONTAINS_MAX = 256

/** Of collections whose records have names. */
export const CONTAINS_PARAMETER = {
  contains: z
    .string()
    .max(CONTAINS_MAX)
    .optional()
    .meta({ description: 'Only those whose name contains this text, in any case.' }),
}
