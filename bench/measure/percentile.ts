/** Returns the value below which `percent` of the ascending `values` are. */
export function percentile(values: ArrayLike<number>, percent: number): number {
  if (values.length === 0) return Number.NaN
  return values[Math.min(values.length - 1, Math.floor((values.length * percent) / 100))]!
}
