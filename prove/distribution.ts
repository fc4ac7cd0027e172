import { percentile } from '../bench/harness'

/** Where the middle, the last hundredth and the end of some times are, for a table. */
export function distribution (samples: readonly number[]): string {
  if (samples.length === 0) return 'none'
  const ms = (value: number): string => `${value < 10 ? value.toFixed(1) : Math.round(value)}`
  return `p50 ${ms(percentile(samples, 0.5))}, p99 ${ms(percentile(samples, 0.99))}, max ${ms(Math.max(...samples))} ms (${samples.length})`
}

/** Slope of the line that lies closest to the points (least squares), in y per x. */
export function slope (points: ReadonlyArray<readonly [x: number, y: number]>): number {
  const mean = (of: 0 | 1): number => points.reduce((sum, point) => sum + point[of], 0) / points.length
  const [x, y] = [mean(0), mean(1)]
  const spread = points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0)
  return spread === 0 ? 0 : points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0) / spread
}
