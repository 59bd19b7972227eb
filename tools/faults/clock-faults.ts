import type { Fault, Ground } from './fault.ts'
import { openMovedClock } from './stage/moved-clock.ts'
import type { StageOptions } from './stage/stage.ts'

type Clocked = 'platform' | 'event store' | 'Postgres'

/**
 * Work that was postponed while a clock was ahead waits until that time. A step back therefore returns to the right
 * time at its end, and the effect of a step forward shows then. A step ahead stays.
 */
function moved(who: Clocked, hours: number): Fault {
  return {
    name: `clock of the ${who} ${Math.abs(hours)} h ${hours < 0 ? 'back' : 'ahead'}`,
    means: `libfaketime${hours < 0 ? '; at the end it is right again' : '; it stays'}`,
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
