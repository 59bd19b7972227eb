import { v7 } from 'uuid'
import { endMonth, firstKeptMonth } from '../../commands/audit/end-month.ts'
import { execute } from '../../engine/commands/execute.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import { addressKeyName } from '../../streams/access-log/aggregate.ts'
import { accessMonths } from '../../streams/access-month/aggregate.ts'

interface SweepOptions {
  readonly store: EventStore
  readonly vault: Pick<Vault, 'periodKeysBefore' | 'destroySubject'>
  readonly configuration: Pick<Configuration, 'accessLogRetentionDays'>
  readonly now: () => Date
}

const atOnce = 1_000

/**
 * Makes the sweep that ends the months of the access log whose last day is past the retention. First it appends that a
 * month has ended, so that the read model removes its rows. Then it destroys the keys of its source addresses. A key that
 * is left after a crash is found by the next sweep. Resolves with the number of keys.
 */
export function createAccessMonthSweep({
  store,
  vault,
  configuration: { accessLogRetentionDays },
  now,
}: SweepOptions): (signal: AbortSignal) => Promise<number> {
  return async (signal) => {
    let destroyed = 0
    for (;;) {
      const firstKept = firstKeptMonth(accessLogRetentionDays, now())
      const ended = await vault.periodKeysBefore(addressKeyName, firstKept, atOnce)
      for (const { orgId, subjectId, period: month } of ended) {
        if (signal.aborted) return destroyed
        const commandId = v7()
        await execute(store, accessMonths.of(month), (state) => endMonth({ month, now: now() }, state), {
          commandId,
          correlationId: commandId,
          process: 'housekeeping',
        })
        await vault.destroySubject(orgId, subjectId)
        destroyed += 1
      }
      if (ended.length < atOnce) return destroyed
    }
  }
}
