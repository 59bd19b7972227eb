const KEPT = 1000
/** A message may never be acknowledged, so the oldest ones are forgotten. */
const MOST_STARTED = 10_000

export type Measurement = { key: string; value: number }

/** Milliseconds from delivery to acknowledgement, for the last 1,000 messages of a consumer. */
export class Measurements {
  private readonly started = new Map<string, number>()
  private readonly times: number[] = []

  start(id: string, now: number): void {
    this.started.set(id, now)
    if (this.started.size <= MOST_STARTED) return
    const [oldest] = this.started.keys()
    if (oldest !== undefined) this.started.delete(oldest)
  }

  end(id: string, now: number): void {
    const startedAt = this.started.get(id)
    if (startedAt === undefined) return
    this.started.delete(id)
    this.times.push(Math.round(now - startedAt))
    if (this.times.length > KEPT) this.times.shift()
  }

  /** Mean, median and percentiles. Empty before the first acknowledgement. */
  summary(): Measurement[] {
    if (this.times.length === 0) return []
    const sorted = this.times.toSorted((a, b) => a - b)
    const at = (percent: number): number =>
      sorted[Math.min(sorted.length - 1, Math.floor((percent / 100) * sorted.length))] ?? 0
    const mean = Math.floor(sorted.reduce((sum, time) => sum + time, 0) / sorted.length)
    return [
      { key: 'Mean', value: mean },
      { key: 'Median', value: at(50) },
      { key: 'Fastest', value: at(0) },
      ...[0, 20, 40, 60, 80].map((percent, index) => ({ key: `Quintile ${index + 1}`, value: at(percent) })),
      ...[90, 95, 99, 99.5, 99.9].map((percent) => ({ key: `${percent}%`, value: at(percent) })),
      { key: 'Highest', value: at(100) },
    ]
  }
}
