import { SeededRandom } from '../node-checks/seeded-random.ts'

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

/** One kill -9 of one part or of several at once. */
export interface Strike {
  /** Start of the pause: the end of the recovery, or the previous strike. After a strike, this one meets a recovery. */
  readonly after: 'recovery' | 'strike'
  readonly pauseMs: number
  readonly victims: readonly Part[]
}

const pauseBelowMs = { recovery: 900, strike: 1_800 }

/** The victims and times. The same seed gives the same schedule. */
export function scheduleOf(seed: number, strikes: number): readonly Strike[] {
  const random = new SeededRandom(seed)
  return Array.from({ length: strikes }, (_, index) => {
    const after = index > 0 && random.below(10) < 4 ? 'strike' : 'recovery'
    return { after, pauseMs: random.below(pauseBelowMs[after]), victims: victimsOf(random) }
  })
}

function victimsOf(random: SeededRandom): readonly Part[] {
  const chance = random.below(100)
  if (chance < 4) return parts
  const count = chance < 74 ? 1 : chance < 92 ? 2 : 3
  const left: Part[] = [...parts]
  return Array.from({ length: count }, () => left.splice(random.below(left.length), 1)).flat()
}

export function describeStrike({ after, pauseMs, victims }: Strike): string {
  return `${pauseMs} ms after ${after === 'recovery' ? 'recovery' : 'the previous strike'}: ${victims.length === parts.length ? 'everything' : victims.join(', ')}`
}
