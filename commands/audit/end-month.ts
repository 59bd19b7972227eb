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

/** The oldest month, `yyyy-mm`, with a day that is not past the retention. */
export function firstKeptMonth(retentionDays: number, now: Date): string {
  return new Date(now.getTime() - retentionDays * 86_400_000).toISOString().slice(0, 7)
}
