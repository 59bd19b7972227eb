import type { Mutant } from './mutant.ts'

const claims = 'test/engine/processes/keyed-claims.int.test.ts'
const quotas = 'test/engine/processes/receiver-quotas.int.test.ts'
const egress = 'test/platform/outbound/egress.int.test.ts'

export const concurrencyKeyMutants: readonly Mutant[] = [
  {
    name: 'key-limit-ignored',
    fault: 'one concurrency key gets a worker for each of its rows',
    file: 'engine/processes/claims.ts',
    at: 'Claims / #values / return / .argument',
    becomes: '[$elements.0, $elements.1, $elements.2, $elements.3, $elements.4, [], [], [], [], 1_000]',
    caughtBy: {
      [claims]: 'takes the oldest rows of each key, as many as the key may have',
      [quotas]: 'a receiver that hangs holds up no other receiver and no other process',
    },
  },
  {
    name: 'unhealthy-keys-unlimited',
    fault: 'unhealthy endpoints take the workers of healthy ones',
    file: 'engine/processes/claim-statements.ts',
    at: "claimStatement / 'place <= $14::integer'",
    becomes: '$14::integer >= 0',
    caughtBy: { [claims]: 'takes from all unhealthy keys together no more than their quota' },
  },
  {
    name: 'unhealthy-keys-by-age',
    fault: 'unhealthy endpoints with long queues keep all other unhealthy endpoints from recovering',
    file: 'engine/processes/claim-statements.ts',
    at: "claimStatement / 'order by turn, due_at, key, step'",
    becomes: 'order by due_at, key, step',
    caughtBy: { [claims]: 'lets unhealthy keys take turns, however long their queues are' },
  },
  {
    name: 'oldest-rows-first',
    fault: 'a few slow receivers get every worker that becomes free',
    file: 'engine/processes/claim-statements.ts',
    at: "claimStatement / 'order by in_hand + rank, due_at limit'",
    becomes: 'order by due_at limit',
    caughtBy: { [claims]: 'takes first the rows of the keys with the fewest running steps' },
  },
  {
    name: 'dead-queue-read-whole',
    fault: 'each claim reads the whole queue of an unreachable receiver',
    file: 'engine/processes/claims-pool.ts',
    at: 'createClaimsPool / enable_sort',
    becomes: "enable_sort: 'on'",
    caughtBy: { [claims]: 'costs the same however long its queue is' },
  },
  {
    name: 'key-never-pauses',
    fault: 'an unreachable receiver is called without pause',
    file: 'engine/processes/concurrency-keys.ts',
    at: 'ConcurrencyKeys / quotas / ||',
    becomes: '$right',
    caughtBy: {
      'test/engine/processes/concurrency-keys.unit.test.ts':
        'pauses a key when its receiver is unreachable three times in a row',
      [quotas]: 'an unreachable receiver pauses',
    },
  },
  {
    name: 'receivers-share-workers',
    fault: 'deliveries that hang take the workers of other processes',
    file: 'engine/processes/workers.ts',
    at: 'Workers / #workerOf / ?',
    becomes: '$consequent',
    caughtBy: { [quotas]: 'receivers that all hang take no workers of other processes' },
  },
  {
    name: 'circuit-shared-by-keys',
    fault: 'the calls of one tenant to a host block the calls of other tenants',
    file: 'platform/outbound/egress.ts',
    at: 'circuitOf / inLane()',
    becomes: "''",
    caughtBy: { [egress]: 'is separate per concurrency key: failures of one caller at a host block no other caller' },
  },
  {
    name: 'connections-shared-by-keys',
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
