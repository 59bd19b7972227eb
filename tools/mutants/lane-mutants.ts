import type { Mutant } from './mutant.ts'

const claims = 'test/processes/runtime/lane-claims.int.test.ts'
const shares = 'test/processes/runtime/lane-shares.int.test.ts'
const egress = 'test/platform/outbound/egress.int.test.ts'

export const laneMutants: readonly Mutant[] = [
  {
    name: 'lane-cap-ignored',
    fault: 'one concurrency key gets a worker for each of its rows',
    file: 'processes/runtime/lane-claims.ts',
    at: "dueByLane / 'limit coalesce(known.room, $13::integer)'",
    becomes: 'limit greatest($5::integer, coalesce(known.room, $13::integer))',
    caughtBy: {
      [claims]: 'takes of each lane what it may have, its oldest first',
      [shares]: 'a lane that hangs holds up no other, nor any other process',
    },
  },
  {
    name: 'ill-lanes-unlimited',
    fault: 'unhealthy endpoints take the workers of healthy ones',
    file: 'processes/runtime/lane-claims.ts',
    at: "dueByLane / 'place <= $14::integer'",
    becomes: '$14::integer >= 0',
    caughtBy: { [claims]: 'takes of all unhealthy lanes together what they may have' },
  },
  {
    name: 'ill-lanes-by-age',
    fault: 'unhealthy endpoints with long queues keep all other unhealthy endpoints from recovering',
    file: 'processes/runtime/lane-claims.ts',
    at: "dueByLane / 'order by turn, due_at, key, step'",
    becomes: 'order by due_at, key, step',
    caughtBy: { [claims]: 'lets unhealthy lanes take turns, whatever some of them have piled up' },
  },
  {
    name: 'oldest-rows-first',
    fault: 'a few slow receivers get every worker that becomes free',
    file: 'processes/runtime/lane-claims.ts',
    at: "dueByLane / 'order by load, due_at limit'",
    becomes: 'order by due_at limit',
    caughtBy: { [claims]: 'takes first of the lanes that have the fewest under way' },
  },
  {
    name: 'dead-lane-read-whole',
    fault: 'each claim reads the whole queue of an unreachable receiver',
    file: 'processes/runtime/claims-pool.ts',
    at: 'createClaimsPool / enable_sort',
    becomes: "enable_sort: 'on'",
    caughtBy: { [claims]: 'costs the same whatever it has piled up' },
  },
  {
    name: 'lane-never-pauses',
    fault: 'an unreachable receiver is called without pause',
    file: 'processes/runtime/lanes.ts',
    at: 'Lanes / shares / || 1',
    becomes: '$right',
    caughtBy: {
      'test/processes/runtime/lanes.unit.test.ts':
        'pauses a lane from the third time in a row that its receiver is not reached',
      [shares]: 'a lane whose receiver cannot be reached pauses',
    },
  },
  {
    name: 'lanes-share-workers',
    fault: 'deliveries that hang take the workers of other processes',
    file: 'processes/runtime/workers.ts',
    at: 'Workers / #workerPoolsOf / ? 1',
    becomes: '$consequent',
    caughtBy: { [shares]: 'lanes that hang one and all leave the workers of other processes alone' },
  },
  {
    name: 'circuit-shared-by-lanes',
    fault: 'the calls of one tenant to a host block the calls of other tenants',
    file: 'platform/outbound/egress.ts',
    at: 'circuitOf / inLane()',
    becomes: "''",
    caughtBy: { [egress]: 'is separate per concurrency key: failures of one caller at a host block no other caller' },
  },
  {
    name: 'connections-shared-by-lanes',
    fault: 'calls that hang use up the connections of all callers of that host',
    file: 'platform/outbound/egress.ts',
    at: 'createEgress / poolOf / inLane()',
    becomes: "''",
    caughtBy: { [egress]: 'has separate connections per concurrency key, so hanging calls of one block no other' },
  },
  {
    name: 'trial-unseen',
    fault: 'a circuit allows calls while its trial call is running',
    file: 'platform/outbound/circuit-breaker.ts',
    at: 'createCircuitBreaker / openForMs / if 2',
    becomes: '',
    caughtBy: { 'test/platform/outbound/circuit-breaker.unit.test.ts': 'is open for other callers during its trial' },
  },
]
