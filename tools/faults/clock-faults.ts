import type { Fault, Ground } from './fault.ts'
import { openMovedClock } from './stage/moved-clock.ts'
import type { StageOptions } from './stage/stage.ts'

type Clocked = 'platform' | 'event store' | 'Postgres'

/**
 * A clock that was set back is right again at the end of its fault. A clock ahead stays ahead: after a step back, the work
 * that was postponed meanwhile would wait for hours.
 */
function moved(who: Clocked, hours: number): Fault {
  return {
    name: `clock of the ${who} ${Math.abs(hours)} h ${hours < 0 ? 'back' : 'ahead'}`,
    means: `libfaketime${hours < 0 ? '; the clock is right again at the end' : '; the clock stays ahead'}`,
    seconds: { full: 20, short: 4 },
    health: [],
    mayExpire: who === 'platform',
    // Time budgets run out. An object store also refuses URLs that were signed with a clock hours away from its own.
    mayEnd: who === 'platform' ? ['ANALYSIS_TIMEOUT', 'IMAGE_FETCH_FAILED'] : [],
    prepare: () => onMovedClock(who, hours),
  }
}

async function onMovedClock(who: Clocked, hours: number): Promise<Ground> {
  const clock = await openMovedClock()
  const options: StageOptions = who === 'platform' ? { env: clock.env } : { clocks: { [who]: clock.env } }
  return {
    options,
    async begin() {
      await clock.moveTo(hours)
      return () => (hours < 0 ? clock.moveTo(0) : undefined)
    },
    release: () => clock.remove(),
  }
}

export const clockFaults: readonly Fault[] = (['platform', 'event store', 'Postgres'] as const).flatMap((who) => [
  moved(who, 3),
  moved(who, -3),
])
