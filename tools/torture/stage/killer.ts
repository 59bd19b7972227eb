import { setTimeout as sleep } from 'node:timers/promises'
import type { Strike } from '../schedule.ts'
import type { Checked, Finding } from '../facts.ts'
import type { Stage } from './stage.ts'

/** Longest that everything may need to be up again while nothing is killed. */
const recoveryMs = 90_000

export interface Kills {
  readonly strikes: number
  /** Processes that ran when they were struck. */
  readonly killed: number
  /** Strikes that met parts which were not up again. */
  readonly amidRecovery: number
  readonly longestRecoveryMs: number
}

/** Strikes as the schedule says; `told` hears of each one. Rejects when something does not come up again. */
export async function strikeAll(
  stage: Stage,
  schedule: readonly Strike[],
  signal: AbortSignal,
  told: (strike: Strike, index: number) => void,
): Promise<Kills> {
  const kills = { strikes: 0, killed: 0, amidRecovery: 0, longestRecoveryMs: 0 }
  for (const [index, strike] of schedule.entries()) {
    if (strike.after === 'recovery')
      kills.longestRecoveryMs = Math.max(kills.longestRecoveryMs, await recovered(stage, signal))
    await sleep(strike.pauseMs, undefined, { signal })
    told(strike, index)
    const victims = strike.victims.map((name) => stage.part(name))
    if (!stage.isUp()) kills.amidRecovery += 1
    const hits = await Promise.all(victims.map((victim) => victim.kill()))
    kills.strikes += 1
    kills.killed += hits.filter(Boolean).length
  }
  kills.longestRecoveryMs = Math.max(kills.longestRecoveryMs, await recovered(stage, signal))
  return kills
}

/** Milliseconds until everything was up. */
export async function recovered(stage: Stage, signal: AbortSignal): Promise<number> {
  const begun = performance.now()
  const over = new AbortController()
  const ended = AbortSignal.any([signal, over.signal])
  const late = sleep(recoveryMs, undefined, { signal: ended }).then(() =>
    Promise.reject(new Error(`not up again within ${recoveryMs} ms: ${stage.down().join(', ')}`)),
  )
  try {
    await Promise.race([stage.up(), late])
    return performance.now() - begun
  } finally {
    over.abort()
    late.catch(() => undefined)
  }
}

/** Nothing that ran may end by itself because something else was killed: a supervisor is for what was killed. */
export function checkOwnEnds(stage: Stage): Checked {
  const findings: Finding[] = stage
    .all()
    .flatMap(({ name, ownEnds }) =>
      ownEnds.whileRunning > 0
        ? [{ what: 'a process that ran ended by itself', where: `${name}, ${ownEnds.whileRunning} times` }]
        : [],
    )
  return { check: 'nothing ends because something else does', examined: stage.all().length, findings }
}
