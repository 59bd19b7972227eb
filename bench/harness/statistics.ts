/** The middle of some figures. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** Distance between the quartiles, as a share of the median. */
export function spread(values: readonly number[]): number {
  return (quantile(values, 0.75) - quantile(values, 0.25)) / median(values)
}

/** The figure below which a share of all of them lie, between its neighbours in proportion. NaN without any. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const place = (sorted.length - 1) * share
  const below = sorted[Math.floor(place)] ?? NaN
  const above = sorted[Math.ceil(place)] ?? NaN
  return below + (above - below) * (place - Math.floor(place))
}
