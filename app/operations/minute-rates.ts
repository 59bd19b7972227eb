import { isFailure } from '../../platform/http/problems.ts'

/** Upper limits of the latencies that are counted together, in milliseconds. Longer ones are in a last group. */
const latencyLimits = [1, 2, 5, 10, 20, 35, 50, 75, 100, 150, 250, 400, 600, 1_000, 1_500, 2_500, 5_000, 10_000, 30_000]

/** The events that are counted, by the member that counts them. A delivery or notification that is tried again has not failed. */
const countedEvents: Readonly<Record<string, OutcomeName>> = {
  AssessmentCompleted: 'assessments',
  AssessmentFailed: 'assessmentsFailed',
  WebhookDelivered: 'deliveries',
  WebhookDeliveryFailed: 'deliveriesFailed',
  NotificationSent: 'notifications',
  NotificationFailed: 'notificationsFailed',
}

type OutcomeName =
  | 'assessments'
  | 'assessmentsFailed'
  | 'deliveries'
  | 'deliveriesFailed'
  | 'notifications'
  | 'notificationsFailed'

/** What one process did in one minute. */
export interface MinuteRates extends Record<OutcomeName, number> {
  /** Minutes since 1970. */
  readonly minute: number
  requests: number
  /** Answers that are failures of the platform. */
  errors: number
  /** Requests by latency, as the limits group them. */
  readonly latencies: number[]
}

/** The present minute and the one before may still have news for a store. */
const keptMinutes = 2

/** Counts the work of this process by minutes. Nothing is lost when a store is slow: a minute is kept until it is stored. */
export class Rates {
  readonly #clock: () => Date
  #minutes: MinuteRates[] = []

  constructor(clock: () => Date) {
    this.#clock = clock
  }

  request({ status, durationMs }: { readonly status: number; readonly durationMs: number }): void {
    const minute = this.#present()
    minute.requests += 1
    if (isFailure(status)) minute.errors += 1
    const group = latencyLimits.findIndex((limit) => durationMs <= limit)
    const place = group === -1 ? latencyLimits.length : group
    minute.latencies[place] = (minute.latencies[place] ?? 0) + 1
  }

  appended(events: readonly { readonly type: string }[]): void {
    for (const { type } of events) {
      const name = countedEvents[type]
      if (name !== undefined) this.#present()[name] += 1
    }
  }

  /** The minutes that are not stored for the last time yet, the oldest first. */
  minutes(): readonly MinuteRates[] {
    return this.#minutes
  }

  /** A store has these minutes as they are now. The counts of the newest go on. Later ones are of a clock that was set back. */
  stored(): void {
    const present = minuteOf(this.#clock())
    this.#minutes = this.#minutes.filter(({ minute }) => minute > present - keptMinutes && minute <= present)
  }

  #present(): MinuteRates {
    const minute = minuteOf(this.#clock())
    const known = this.#minutes.findLast((one) => one.minute === minute)
    if (known !== undefined) return known
    const fresh = {
      minute,
      requests: 0,
      errors: 0,
      latencies: Array.from({ length: latencyLimits.length + 1 }, () => 0),
      assessments: 0,
      assessmentsFailed: 0,
      deliveries: 0,
      deliveriesFailed: 0,
      notifications: 0,
      notificationsFailed: 0,
    }
    this.#minutes.push(fresh)
    // While the database is away, an hour waits at most: older minutes are not shown.
    if (this.#minutes.length > 60) this.#minutes.shift()
    return fresh
  }
}

function minuteOf(at: Date): number {
  return Math.floor(at.getTime() / 60_000)
}

/** The latency that a part of the requests does not exceed, in milliseconds: the limit of its group. Null without requests. */
export function latencyAt(latencies: readonly number[], part: number): number | null {
  const total = latencies.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let seen = 0
  for (const [place, count] of latencies.entries()) {
    seen += count
    if (seen >= part * total) return latencyLimits[place] ?? latencyLimits.at(-1) ?? null
  }
  return null
}
