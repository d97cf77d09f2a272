/** Four places, cut: what is shown never exceeds what it was compared by. */
export const probabilityText = (probability: number): string =>
  (Math.floor(Number((probability * 10_000).toFixed(6))) / 10_000).toFixed(4)
