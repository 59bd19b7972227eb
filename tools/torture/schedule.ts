import { SeededRandom } from 'embedded-eventstore/seeded-random'
import type { ClusterFault } from './stage/pretended-cluster.ts'

/** The victims: two processes of each role, the event store node, the whole Postgres cluster. */
export const parts = [
  'api-1',
  'api-2',
  'projector-1',
  'projector-2',
  'processor-1',
  'processor-2',
  'node',
  'postgres',
] as const
export type Part = (typeof parts)[number]

const roles = parts.filter((part) => part !== 'node' && part !== 'postgres')

/** A kill -9 of one part or of several at once, a process that stands still, or a failure of the event store's cluster. */
export interface Strike {
  /** Start of the pause: the end of the recovery, or the previous strike. After a strike, this one meets a recovery. */
  readonly after: 'recovery' | 'strike'
  readonly pauseMs: number
  /** Empty unless it is a kill. */
  readonly victims: readonly Part[]
  readonly suspended?: Suspension
  readonly cluster?: ClusterStrike
}

/** A process of the platform stands still, as with SIGSTOP, and goes on where it was. The next strikes come meanwhile. */
export interface Suspension {
  readonly part: Part
  readonly lastsMs: number
}

export interface ClusterStrike {
  readonly name: string
  readonly lastsMs: number
  /** What fails. Undefined: commands of the caller make it fail. */
  readonly fault?: ClusterFault
}

export const kinds = ['kill', 'suspend', 'silence', 'hang', 'quorum'] as const
export type Kind = (typeof kinds)[number]

const pauseBelowMs = { recovery: 900, strike: 1_800 }
/** Some are shorter than the time limits of the platform, some longer. */
const clusterBelowMs = { silence: 24_000, hang: 14_000, quorum: 14_000 }
/** Half of them end soon after the leases of steps, half after those of claims and registrations. */
const suspendedBelowMs = [8_000, 45_000] as const
/** How many of twenty strikes are kills, if there are others. */
const killsOfTwenty = 14

/** The strikes and their times. The same seed gives the same schedule. */
export function scheduleOf(seed: number, strikes: number, allowed: readonly Kind[] = kinds): readonly Strike[] {
  const random = new SeededRandom(seed)
  const others = allowed.filter((kind) => kind !== 'kill')
  return Array.from({ length: strikes }, (_, index) => {
    const isKill = others.length === 0 || (allowed.includes('kill') && random.below(20) < killsOfTwenty)
    const kind = others[random.below(Math.max(1, others.length))]
    if (!isKill && kind !== undefined) {
      const strike = { after: 'recovery', pauseMs: random.below(pauseBelowMs.recovery), victims: [] } as const
      return kind === 'suspend'
        ? { ...strike, suspended: suspensionOf(random) }
        : { ...strike, cluster: failureOf(kind, random) }
    }
    const after = index > 0 && random.below(10) < 4 ? 'strike' : 'recovery'
    return { after, pauseMs: random.below(pauseBelowMs[after]), victims: victimsOf(random) }
  })
}

function suspensionOf(random: SeededRandom): Suspension {
  const part = roles[random.below(roles.length)] ?? 'api-1'
  return { part, lastsMs: 500 + random.below(suspendedBelowMs[random.below(2)] ?? 0) }
}

function failureOf(kind: Exclude<Kind, 'kill' | 'suspend'>, random: SeededRandom): ClusterStrike {
  const lastsMs = 500 + random.below(clusterBelowMs[kind])
  const [first, isLate] = [random.below(2) === 0, random.below(2) === 0]
  if (kind === 'silence') return { name: 'the leader drops the bytes of open connections', lastsMs, fault: { kind } }
  const late = isLate ? ', late' : ''
  if (kind === 'hang') {
    const name = `the leader hangs, appends are ${first ? 'taken' : `held${late}`}`
    return { name, lastsMs, fault: { kind, isTaken: first, isLate } }
  }
  const name = `no quorum, appends are ${first ? 'refused' : `held${late}`}`
  return { name, lastsMs, fault: { kind, isRefusing: first, isLate, next: random.below(2) === 0 ? 0 : 1 } }
}

function victimsOf(random: SeededRandom): readonly Part[] {
  const chance = random.below(100)
  if (chance < 4) return parts
  const count = chance < 74 ? 1 : chance < 92 ? 2 : 3
  const left: Part[] = [...parts]
  return Array.from({ length: count }, () => left.splice(random.below(left.length), 1)).flat()
}

export function describeStrike(strike: Strike): string {
  const { after, pauseMs } = strike
  return `${pauseMs} ms after ${after === 'recovery' ? 'recovery' : 'the previous strike'}: ${whatOf(strike)}`
}

function whatOf({ victims, suspended, cluster }: Strike): string {
  if (cluster !== undefined) return `${cluster.name}, for ${cluster.lastsMs} ms`
  if (suspended !== undefined) return `${suspended.part} stands still for ${suspended.lastsMs} ms`
  return victims.length === parts.length ? 'everything' : victims.join(', ')
}
