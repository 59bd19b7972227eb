import { setTimeout as sleep } from 'node:timers/promises'
import { reviewsUnderWay } from '../checks/assessment-reviews.ts'
import { channels, missingOn } from '../checks/channels.ts'
import { withoutEnd } from '../checks/endings.ts'
import { withoutFindings } from '../checks/findings.ts'
import { tasksUnderWay } from '../checks/human-review.ts'
import { withoutResult } from '../checks/reviewed-cases.ts'
import { notificationsUnderWay } from '../checks/notifications.ts'
import { usersUnderWay } from '../checks/users.ts'
import { deliveriesWithoutOutcome } from '../checks/webhooks.ts'
import { workflowsUnderWay } from '../checks/workflows.ts'
import { erasuresUnderWay, ofLiving } from '../checks/erased.ts'
import type { Fact } from '../facts.ts'

const pollMs = 300
const quietMs = 1_500

/** Texts about unfinished work according to the log. Empty when everything is finished. */
export function underWay(whole: readonly Fact[]): readonly string[] {
  const log = ofLiving(whole)
  const deliveries = deliveriesWithoutOutcome(whole)
  const unpublished = Object.keys(channels).flatMap((channel) =>
    missingOn(channel, whole).map(({ id }) => `${channel} lacks ${id}`),
  )
  return [
    ...erasuresUnderWay(whole),
    ...withoutEnd(whole),
    ...(deliveries > 0 ? [`${deliveries} deliveries`] : []),
    ...unpublished,
    ...withoutFindings(log),
    ...tasksUnderWay(log),
    ...withoutResult(log),
    ...reviewsUnderWay(log),
    ...usersUnderWay(log),
    ...notificationsUnderWay(whole),
    ...workflowsUnderWay(log),
  ]
}

/**
 * Waits until no work is unfinished and the log is quiet. Returns the work that is left after the limit; the checks
 * then report it.
 */
export async function untilQuiet(
  log: readonly Fact[],
  limitMs: number,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const deadline = performance.now() + limitMs
  let [length, since] = [log.length, performance.now()]
  while (performance.now() < deadline) {
    if (log.length !== length) [length, since] = [log.length, performance.now()]
    if (performance.now() - since >= quietMs && underWay(log).length === 0) return []
    await sleep(pollMs, undefined, { signal })
  }
  return underWay(log)
}
