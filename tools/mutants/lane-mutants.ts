import type { Mutant } from './mutant.ts'

const keys = 'test/processes/runtime/concurrency-keys.unit.test.ts'
const claims = 'test/processes/runtime/keyed-claims.int.test.ts'
const shares = 'test/processes/runtime/receiver-shares.int.test.ts'
const egress = 'test/platform/outbound/egress.int.test.ts'

export const laneMutants: readonly Mutant[] = [
  {
    name: 'lane-cap-ignored',
    fault: 'one concurrency key gets a worker for each of its rows',
    file: 'processes/runtime/claim-statements.ts',
    text: 'limit coalesce(known.room, $13::integer)',
    replacement: 'limit greatest($5::integer, coalesce(known.room, $13::integer))',
    caughtBy: [
      { file: claims, test: 'takes the oldest rows of each key, as many as the key may have' },
      { file: shares, test: 'a receiver that hangs holds up no other receiver and no other process' },
    ],
  },
  {
    name: 'ill-lanes-unlimited',
    fault: 'unhealthy endpoints take the workers of healthy ones',
    file: 'processes/runtime/claim-statements.ts',
    text: 'place <= $14::integer',
    replacement: '$14::integer >= 0',
    caughtBy: [{ file: claims, test: 'takes from all unhealthy keys together no more than their share' }],
  },
  {
    name: 'ill-lanes-by-age',
    fault: 'unhealthy endpoints with long queues keep all other unhealthy endpoints from recovering',
    file: 'processes/runtime/claim-statements.ts',
    text: 'order by turn, due_at, key, step',
    replacement: 'order by due_at, key, step',
    caughtBy: [{ file: claims, test: 'lets unhealthy keys take turns, however long their queues are' }],
  },
  {
    name: 'oldest-rows-first',
    fault: 'a few slow receivers get every worker that becomes free',
    file: 'processes/runtime/claim-statements.ts',
    text: 'order by load, due_at limit',
    replacement: 'order by due_at limit',
    caughtBy: [{ file: claims, test: 'takes first the rows of the keys with the fewest running steps' }],
  },
  {
    name: 'dead-lane-read-whole',
    fault: 'each claim reads the whole queue of an unreachable receiver',
    file: 'processes/runtime/claims-pool.ts',
    text: `, enable_sort: 'off'`,
    replacement: '',
    caughtBy: [{ file: claims, test: 'costs the same however long its queue is' }],
  },
  {
    name: 'lane-never-pauses',
    fault: 'an unreachable receiver is called without pause',
    file: 'processes/runtime/concurrency-keys.ts',
    text: 'const isClosed = isPaused(key, now) || ',
    replacement: 'const isClosed = ',
    caughtBy: [
      { file: keys, test: 'pauses a key when its receiver is unreachable three times in a row' },
      { file: shares, test: 'an unreachable receiver pauses' },
    ],
  },
  {
    name: 'lanes-share-workers',
    fault: 'deliveries that hang take the workers of other processes',
    file: 'processes/runtime/workers.ts',
    text: 'concurrency === undefined ? shared : new WorkerBudget(concurrency.workers)',
    replacement: 'shared',
    caughtBy: [{ file: shares, test: 'receivers that all hang take no workers of other processes' }],
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
