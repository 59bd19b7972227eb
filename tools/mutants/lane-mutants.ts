import type { Mutant } from './mutant.ts'

const lanes = 'test/processes/runtime/lanes.unit.test.ts'
const claims = 'test/processes/runtime/lane-claims.int.test.ts'
const shares = 'test/processes/runtime/lane-shares.int.test.ts'
const egress = 'test/platform/outbound/egress.int.test.ts'

export const laneMutants: readonly Mutant[] = [
  {
    name: 'lane-cap-ignored',
    fault: 'a lane gets all the workers that it has rows for',
    file: 'processes/runtime/lane-claims.ts',
    text: 'limit coalesce(known.room, $13::integer)',
    replacement: 'limit greatest($5::integer, coalesce(known.room, $13::integer))',
    caughtBy: [
      { file: claims, test: 'takes of each lane what it may have, its oldest first' },
      { file: shares, test: 'a lane that hangs holds up no other, nor any other process' },
    ],
  },
  {
    name: 'ill-lanes-unlimited',
    fault: 'lanes that do not get on take the workers of those that do',
    file: 'processes/runtime/lane-claims.ts',
    text: 'place <= $14::integer',
    replacement: '$14::integer >= 0',
    caughtBy: [{ file: claims, test: 'takes of all ill lanes together what they may have' }],
  },
  {
    name: 'ill-lanes-by-age',
    fault: 'receivers that answer badly and have much piled up keep all others from getting well',
    file: 'processes/runtime/lane-claims.ts',
    text: 'order by turn, due_at, key, step',
    replacement: 'order by due_at, key, step',
    caughtBy: [{ file: claims, test: 'lets ill lanes take turns, whatever some of them have piled up' }],
  },
  {
    name: 'oldest-rows-first',
    fault: 'a few receivers that take their time have every worker that comes free',
    file: 'processes/runtime/lane-claims.ts',
    text: 'order by load, due_at limit',
    replacement: 'order by due_at limit',
    caughtBy: [{ file: claims, test: 'takes first of the lanes that have the fewest under way' }],
  },
  {
    name: 'dead-lane-read-whole',
    fault: 'each claim reads all that a dead lane has piled up',
    file: 'processes/runtime/claims-pool.ts',
    text: `, enable_sort: 'off'`,
    replacement: '',
    caughtBy: [{ file: claims, test: 'costs the same whatever it has piled up' }],
  },
  {
    name: 'lane-never-pauses',
    fault: 'a receiver that cannot be reached is called on and on',
    file: 'processes/runtime/lanes.ts',
    text: 'const isClosed = isPaused(lane, now) || ',
    replacement: 'const isClosed = ',
    caughtBy: [
      { file: lanes, test: 'pauses a lane from the third time in a row that its receiver is not reached' },
      { file: shares, test: 'a lane whose receiver cannot be reached pauses' },
    ],
  },
  {
    name: 'lanes-share-workers',
    fault: 'deliveries that hang take the workers of other processes',
    file: 'processes/runtime/workers.ts',
    text: 'const crew = lanes === undefined ? everyones : found(lanes.slots)',
    replacement: 'const crew = lanes === undefined ? everyones : everyones',
    caughtBy: [{ file: shares, test: 'lanes that hang one and all leave the workers of other processes alone' }],
  },
  {
    name: 'circuit-shared-by-lanes',
    fault: 'what one tenant has called at a host keeps the others from calling it',
    file: 'platform/outbound/egress.ts',
    text: 'return `${purpose} ${url.origin}${inLane(lane)}`',
    replacement: 'return `${purpose} ${url.origin}${inLane(lane).slice(0, 0)}`',
    caughtBy: [
      { file: egress, test: 'is separate per concurrency key: failures of one caller at a host block no other caller' },
    ],
  },
  {
    name: 'connections-shared-by-lanes',
    fault: 'calls that hang take the connections of everybody who calls that host',
    file: 'platform/outbound/egress.ts',
    text: `'configured' : 'checked'} \${url.origin}\${inLane(lane)}`,
    replacement: `'configured' : 'checked'} \${url.origin}\${inLane(lane).slice(0, 0)}`,
    caughtBy: [
      { file: egress, test: 'has separate connections per concurrency key, so hanging calls of one block no other' },
    ],
  },
  {
    name: 'trial-unseen',
    fault: 'a circuit says that it may be called while its trial is under way',
    file: 'platform/outbound/circuit-breaker.ts',
    text: `      if (circuit.isTrialRunning) return openMs
      return Math.max`,
    replacement: '      return Math.max',
    caughtBy: [
      {
        file: 'test/platform/outbound/circuit-breaker.unit.test.ts',
        test: 'is open for other callers during its trial',
      },
    ],
  },
]
