/** What a price assumes about a call, in sentences for a person who checks the cost. */
import type { AppliedPrice, CostFlag } from './cost-details.js'

export const assumptionsIn = (price: AppliedPrice): readonly string[] =>
  (price.flags ?? []).map((flag) => TEXTS[flag](price))

const TEXTS: Readonly<Record<CostFlag, (price: AppliedPrice) => string>> = {
  before_first_period: () => 'The call is older than the first known price. That price was used.',
  scheduled_price: () => 'The price was announced in advance and is not confirmed yet.',
  cache_read_rate_missing: () => 'No rate for cache reads is published. They were billed as input.',
  cache_write_rate_missing: () =>
    'No rate for cache writes is published for this service tier. They were billed as input.',
  cache_write_1h_rate_missing: () =>
    'Only the rate of short cache writes is published. It was used for one-hour writes, too.',
  cache_write_ttl_missing: () =>
    'The call does not state the lifetime of cache writes. The rate of five minutes was used.',
  audio_rate_missing: () => 'No rate for audio is published. Audio tokens were billed as text.',
  audio_split_missing: () =>
    'Audio has its own rate, and the call does not state audio tokens. All tokens were billed as text.',
  audio_cache_split_assumed: () =>
    'The call does not state how many audio tokens were cached. The fewest possible number was used.',
  image_rate_missing: () => 'No rate for images is published. Image tokens were billed as text.',
  image_split_missing: () =>
    'Images have their own rate, and the call does not state image tokens. All tokens were billed as text.',
  image_cache_split_assumed: () =>
    'The call does not state how many image tokens were cached. The fewest possible number was used.',
  service_tier_assumed: ({ service_tier, rates_of_tier }) =>
    `No rates are listed for the service tier ${service_tier}. Those of ${rates_of_tier ?? 'standard'} were used.`,
  tool_fee_of_standard_tier: ({ service_tier }) =>
    `No fees per call are listed for the service tier ${service_tier}. Those of standard were used.`,
  tool_fee_of_book: () => 'The negotiated price states no fee for a tool. The fee of the price book was used.',
  long_context_rate_unlisted: () =>
    'No rates above the input threshold are listed for this service tier. Its rates below the threshold were used.',
  price_books_disagree: () => 'Another price book has a different price.',
}
