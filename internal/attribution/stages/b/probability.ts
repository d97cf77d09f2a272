/** Four decimal places, rounded down, so that the shown value never exceeds the one that limits were compared with. */
export const probabilityText = (probability: number): string =>
  (Math.floor(Number((probability * 10_000).toFixed(6))) / 10_000).toFixed(4)
