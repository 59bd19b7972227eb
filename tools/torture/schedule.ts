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

/** A kill -9 of one part or of several at once, or a failure of the event store's cluster. */
export interface Strike {
  /** Start of the pause: the end of the recovery, or the previous strike. After a strike, this one meets a recovery. */
  readonly after: 'recovery' | 'strike'
  readonly pauseMs: number
  /** Empty if the cluster fails. */
  readonly victims: readonly Part[]
  readonly cluster?: ClusterStrike
}

export interface ClusterStrike {
  readonly name: string
  readonly lastsMs: number
  /** What fails. Undefined: commands of the caller make it fail. */
  readonly fault?: ClusterFault
}

export const kinds = ['kill', 'silence', 'hang', 'quorum'] as const
export type Kind = (typeof kinds)[number]

const pauseBelowMs = { recovery: 900, strike: 1_800 }
/** Some are shorter than the time limits of the platform, some longer. */
const clusterBelowMs = { silence: 24_000, hang: 14_000, quorum: 14_000 }
/** How many of twenty strikes are kills, if the cluster fails too. */
const killsOfTwenty = 14

/** The strikes and their times. The same seed gives the same schedule. */
export function scheduleOf(seed: number, strikes: number, allowed: readonly Kind[] = kinds): readonly Strike[] {
  const random = new SeededRandom(seed)
  const clusterKinds = allowed.filter((kind) => kind !== 'kill')
  return Array.from({ length: strikes }, (_, index) => {
    const isKill = clusterKinds.length === 0 || (allowed.includes('kill') && random.below(20) < killsOfTwenty)
    const kind = clusterKinds[random.below(Math.max(1, clusterKinds.length))]
    if (!isKill && kind !== undefined) {
      return {
        after: 'recovery',
        pauseMs: random.below(pauseBelowMs.recovery),
        victims: [],
        cluster: failureOf(kind, random),
      }
    }
    const after = index > 0 && random.below(10) < 4 ? 'strike' : 'recovery'
    return { after, pauseMs: random.below(pauseBelowMs[after]), victims: victimsOf(random) }
  })
}

function failureOf(kind: Exclude<Kind, 'kill'>, random: SeededRandom): ClusterStrike {
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

export function describeStrike({ after, pauseMs, victims, cluster }: Strike): string {
  const what = victims.length === parts.length ? 'everything' : victims.join(', ')
  const strike = cluster === undefined ? what : `${cluster.name}, for ${cluster.lastsMs} ms`
  return `${pauseMs} ms after ${after === 'recovery' ? 'recovery' : 'the previous strike'}: ${strike}`
}
