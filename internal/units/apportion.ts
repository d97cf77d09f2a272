/**
 * Splits a total by the largest remainder: each share is the exact one cut to whole steps, and what is then missing
 * goes, a step each, to those that lost most; of equal ones to the first. The shares sum to the total. Below 0 it is
 * the mirror image.
 *
 * @param portions 0 or more each, and together the whole
 * @param whole above 0
 * @returns shares in the order of the portions
 */
export function apportion(total: bigint, portions: readonly bigint[], whole: bigint): bigint[] {
  if (portions.reduce((sum, portion) => sum + portion, 0n) !== whole) throw new RangeError('portions that are no whole')
  if (total < 0n) return apportion(-total, portions, whole).map((share) => -share)
  const cut = portions.map((portion, place) => {
    const product = portion * total
    return { place, share: product / whole, remainder: product % whole }
  })
  const shares = cut.map(({ share }) => share)
  const missing = Number(total - shares.reduce((sum, share) => sum + share, 0n))
  const losers = [...cut].sort(byRemainder).slice(0, missing)
  for (const { place, share } of losers) shares[place] = share + 1n
  return shares
}

const byRemainder = (one: { readonly remainder: bigint }, other: { readonly remainder: bigint }): number =>
  Number(other.remainder > one.remainder) - Number(other.remainder < one.remainder)
