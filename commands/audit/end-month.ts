import type { Decision } from '../../engine/commands/decision.ts'
import type { AccessMonthState } from '../../streams/access-month/aggregate.ts'
import type { AccessMonthEvent } from '../../streams/access-month/events.ts'

export interface EndMonth {
  readonly month: string
  readonly now: Date
}

/** Ends the retention of a month of the access log. */
export function endMonth({ month, now }: EndMonth, state: AccessMonthState): Decision<AccessMonthEvent> {
  if (state.status === 'ended') return []
  return [{ type: 'AccessMonthEnded', data: { month, endedAt: now.toISOString() } }]
}

/** Whether the last day of a month, `yyyy-mm`, is past the retention. */
export function isPastRetention(month: string, retentionDays: number, now: Date): boolean {
  const [year = 0, number = 0] = month.split('-').map(Number)
  // The first instant of the next month.
  return Date.UTC(year, number) <= now.getTime() - retentionDays * 86_400_000
}
