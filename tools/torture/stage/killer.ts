import { setTimeout as sleep } from 'node:timers/promises'
import type { ClusterStrike, Strike, Suspension } from '../schedule.ts'
import type { Outage } from '../checks/messages.ts'
import type { Checked, Finding } from '../facts.ts'
import type { Stage } from './stage.ts'
import type { Failure, FollowerWatch } from './standstill.ts'

/** Longest time for a complete recovery without a kill. */
const recoveryMs = 90_000
/** Longest wait for a follower after a failure of the cluster. The check then reports it. */
const goOnMs = 60_000

export interface Kills {
  readonly strikes: number
  /** Number of processes that were killed while running. */
  readonly killed: number
  /** Strikes during which some parts were not up again. */
  readonly amidRecovery: number
  readonly longestRecoveryMs: number
  readonly outages: readonly Outage[]
  /** Failures of the event store's cluster. */
  readonly failures: readonly Failure[]
}

/** What strikes. */
export interface Weapons {
  readonly stage: Stage
  readonly followers: FollowerWatch
  /** Begins a failure of the cluster. Resolves to the function that ends it. */
  readonly fail: (strike: ClusterStrike) => Promise<() => Promise<void> | void>
}

/** Strikes by the schedule. Calls `onStrike` for each strike. Rejects when a part does not recover. */
export async function strikeAll(
  weapons: Weapons,
  schedule: readonly Strike[],
  signal: AbortSignal,
  onStrike: (strike: Strike, index: number) => void,
): Promise<Kills> {
  const { stage } = weapons
  const kills = { strikes: 0, killed: 0, amidRecovery: 0, longestRecoveryMs: 0 }
  const failures: Failure[] = []
  const outages: Promise<Outage>[] = []
  for (const [index, strike] of schedule.entries()) {
    if (strike.after === 'recovery')
      kills.longestRecoveryMs = Math.max(kills.longestRecoveryMs, await recovered(stage, signal))
    await sleep(strike.pauseMs, undefined, { signal })
    onStrike(strike, index)
    if (strike.suspended !== undefined) {
      outages.push(suspension(stage, strike.suspended))
      kills.strikes += 1
      continue
    }
    if (strike.cluster !== undefined) {
      failures.push(await failure(weapons, strike.cluster, signal))
      kills.strikes += 1
      continue
    }
    const struck = strike.victims.filter((name) => stage.parts.includes(name))
    const victims = struck.map((name) => stage.part(name))
    if (!stage.isUp()) kills.amidRecovery += 1
    const from = Date.now()
    const hits = await Promise.all(victims.map((victim) => victim.kill()))
    kills.strikes += 1
    kills.killed += hits.filter(Boolean).length
    for (const [place, victim] of victims.entries()) {
      const part = struck[place]
      if (part !== undefined) outages.push(victim.up().then(() => ({ part, from, to: Date.now() })))
    }
  }
  const ended = await Promise.all(outages)
  kills.longestRecoveryMs = Math.max(kills.longestRecoveryMs, await recovered(stage, signal))
  const ofCluster = failures.map(({ from, to }) => ({ part: 'node' as const, from, to }))
  return { ...kills, failures, outages: [...ended, ...ofCluster] }
}

async function suspension(stage: Stage, { part, lastsMs }: Suspension): Promise<Outage> {
  const from = Date.now()
  await stage.part(part).suspend(lastsMs)
  return { part, from, to: Date.now() }
}

/** Fails, returns, and waits for the followers. */
async function failure({ fail, followers }: Weapons, strike: ClusterStrike, signal: AbortSignal): Promise<Failure> {
  const from = Date.now()
  const end = await fail(strike)
  await sleep(strike.lastsMs, undefined, { signal })
  await end()
  const to = Date.now()
  await followers.movedSince(to, goOnMs, signal)
  return { name: strike.name, from, to }
}

/** Milliseconds until everything was up. */
export async function recovered(stage: Stage, signal: AbortSignal): Promise<number> {
  const begun = performance.now()
  const over = new AbortController()
  const ended = AbortSignal.any([signal, over.signal])
  const late = sleep(recoveryMs, undefined, { signal: ended }).then(() =>
    Promise.reject(new Error(`not up again after ${recoveryMs} ms: ${stage.down().join(', ')}`)),
  )
  try {
    await Promise.race([stage.up(), late])
    return performance.now() - begun
  } finally {
    over.abort()
    late.catch(() => undefined)
  }
}

/** A running process must not end because another one was killed. The supervisor must only restart killed processes. */
export function checkOwnEnds(stage: Stage): Checked {
  const findings: Finding[] = stage
    .all()
    .flatMap(({ name, ownEnds }) =>
      ownEnds.whileRunning > 0
        ? [{ what: 'a running process ended by itself', where: `${name}, ${ownEnds.whileRunning} times` }]
        : [],
    )
  return { check: 'no process ends because another one ends', examined: stage.all().length, findings }
}
