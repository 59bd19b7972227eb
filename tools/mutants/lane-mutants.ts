import type { Mutant } from './mutant.ts'

const lanes = 'test/processes/runtime/lanes.unit.test.ts'
const claims = 'test/processes/runtime/lane-claims.int.test.ts'
const shares = 'test/processes/runtime/lane-shares.int.test.ts'
const egress = 'test/platform/outbound/egress.int.test.ts'

export const laneMutants: readonly Mutant[] = [
  {
    name: 'lane-cap-ignored',
    fault: 'one concurrency key gets a worker for each of its rows',
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
    fault: 'unhealthy endpoints take the workers of healthy ones',
    file: 'processes/runtime/lane-claims.ts',
    text: 'place <= $14::integer',
    replacement: '$14::integer >= 0',
    caughtBy: [{ file: claims, test: 'takes of all unhealthy lanes together what they may have' }],
  },
  {
    name: 'ill-lanes-by-age',
    fault: 'unhealthy endpoints with long queues keep all other unhealthy endpoints from recovering',
    file: 'processes/runtime/lane-claims.ts',
    text: 'order by turn, due_at, key, step',
    replacement: 'order by due_at, key, step',
    caughtBy: [{ file: claims, test: 'lets unhealthy lanes take turns, whatever some of them have piled up' }],
  },
  {
    name: 'oldest-rows-first',
    fault: 'a few slow receivers get every worker that becomes free',
    file: 'processes/runtime/lane-claims.ts',
    text: 'order by load, due_at limit',
    replacement: 'order by due_at limit',
    caughtBy: [{ file: claims, test: 'takes first of the lanes that have the fewest under way' }],
  },
  {
    name: 'dead-lane-read-whole',
    fault: 'each claim reads the whole queue of an unreachable receiver',
    file: 'processes/runtime/claims-pool.ts',
    text: `, enable_sort: 'off'`,
    replacement: '',
    caughtBy: [{ file: claims, test: 'costs the same whatever it has piled up' }],
  },
  {
    name: 'lane-never-pauses',
    fault: 'an unreachable receiver is called without pause',
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
    text: 'const workerPool = lanes === undefined ? everyones : found(lanes.slots)',
    replacement: 'const workerPool = lanes === undefined ? everyones : everyones',
    caughtBy: [{ file: shares, test: 'lanes that hang one and all leave the workers of other processes alone' }],
  },
  {
    name: 'circuit-shared-by-lanes',
    fault: 'the calls of one tenant to a host block the calls of other tenants',
    file: 'platform/outbound/egress.ts',
    text: 'return `${purpose} ${url.origin}${inLane(lane)}`',
    replacement: 'return `${purpose} ${url.origin}${inLane(lane).slice(0, 0)}`',
    caughtBy: [
      { file: egress, test: 'is separate per concurrency key: failures of one caller at a host block no other caller' },
    ],
  },
  {
    name: 'connections-shared-by-lanes',
    fault: 'calls that hang use up the connections of all callers of that host',
    file: 'platform/outbound/egress.ts',
    text: `'configured' : 'checked'} \${url.origin}\${inLane(lane)}`,
    replacement: `'configured' : 'checked'} \${url.origin}\${inLane(lane).slice(0, 0)}`,
    caughtBy: [
      { file: egress, test: 'has separate connections per concurrency key, so hanging calls of one block no other' },
    ],
  },
  {
    name: 'trial-unseen',
    fault: 'a circuit allows calls while its trial call is running',
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
