import type { Mutant } from './mutant.ts'

const workers = 'test/engine/processes/workers.int.test.ts'
const takenRows = 'test/engine/processes/taken-rows.int.test.ts'
const goingOn = 'test/engine/processes/continued-steps.int.test.ts'
const egressStandstill = 'test/platform/outbound/egress-standstill.int.test.ts'
const pure = 'test/engine/processes/pure.unit.test.ts'
const deliverStep = 'test/processes/webhooks/deliver-step.int.test.ts'
const startStep = 'test/processes/ai-review/start-step.int.test.ts'
const keyedClaims = 'test/engine/processes/keyed-claims.int.test.ts'
const lateCompletions = 'test/engine/processes/late-completions.int.test.ts'
const workerBudget = 'test/engine/processes/worker-budget.unit.test.ts'

export const processRuntimeMutants: readonly Mutant[] = [
  {
    name: 'close-while-connecting-hangs',
    fault: 'workers that are closed while they connect wait for wake-up signals for ever',
    file: 'engine/processes/wake-ups.ts',
    at: 'untilLost / if 1',
    becomes: '',
    caughtBy: { [workers]: 'end when they close while they connect' },
  },
  {
    name: 'listener-on-a-dead-connection',
    fault: 'an instance whose greetings get no answer believes that it is alone',
    file: 'engine/processes/wake-ups.ts',
    at: 'untilLost / then() / .arguments.1',
    becomes: '() => undefined',
    caughtBy: { 'test/engine/processes/wake-ups.int.test.ts': 'connects again if nothing answers its greeting' },
  },
  {
    name: 'claim-unfenced',
    fault: 'a row is processed again before its list has read the events of the step',
    file: 'engine/processes/claims.ts',
    at: "Claims / complete / 'coalesce((x.fence->>'commit')::numeric, c.fence_commit)'",
    becomes: 'c.fence_commit',
    caughtBy: { [workers]: 'do not run a step again before its list contains the event that it appended' },
  },
  {
    name: 'taken-from-others',
    fault: 'an instance claims each row that it writes, although other instances listen',
    file: 'engine/processes/process-worker.ts',
    at: 'ProcessWorker / take / hearsOf()',
    becomes: 'true',
    caughtBy: { [takenRows]: 'is left to all instances if another one listens' },
  },
  {
    name: 'lost-taking-kept',
    fault: 'a claim whose answer was lost keeps its row from everybody until its lease ends',
    file: 'engine/processes/process-worker.ts',
    at: 'ProcessWorker / take / #giveBackUnrun()',
    becomes: 'undefined',
    caughtBy: { [takenRows]: 'is worked off by a claim if the answer of the statement is lost' },
  },
  {
    name: 'taken-while-held',
    fault: 'a batch that is sent again gives back the claim of a running step, and the step runs twice',
    file: 'engine/processes/process-worker.ts',
    at: 'ProcessWorker / take / holds()',
    becomes: 'false',
    caughtBy: { [takenRows]: 'keeps the claim of its running step if the statement is sent again' },
  },
  {
    name: 'own-move-is-work',
    fault: 'a worker claims because of what its own step did to its row',
    file: 'engine/processes/heard-rows.ts',
    at: 'HeardRows / #scheduleHeld / if 2',
    becomes: '',
    caughtBy: {
      'test/engine/processes/heard-rows.unit.test.ts': 'makes no work of what a step has done to its own row',
    },
  },
  {
    name: 'claim-without-lease',
    fault: 'a claim is free again immediately',
    file: 'engine/processes/process-worker.ts',
    at: 'ProcessWorker / #claim / claim() / .arguments.2',
    becomes: 'new Date(0)',
    caughtBy: { [workers]: 'of two instances work off each row once' },
  },
  {
    name: 'lease-outlived',
    fault: 'a step whose claim waited for the database is still in its call when another worker makes the same call',
    file: 'engine/processes/step-run.ts',
    at: 'termUntil / min() 1 / .arguments.1',
    becomes: 'Infinity',
    caughtBy: {
      'test/engine/processes/slow-claims.int.test.ts': [
        'has only the time that its lease has left',
        'is claimed again if its lease has almost ended',
      ],
    },
  },
  {
    name: 'goes-on-under-a-short-lease',
    fault: 'a step makes its next call with the rest of its lease from before',
    file: 'engine/processes/process-worker.ts',
    at: 'ProcessWorker / #prolonged / if 2',
    becomes: 'if ($consequent.argument !== undefined) $consequent',
    caughtBy: { [goingOn]: 'a step that continues extends a lease that has less left than the time limit' },
  },
  {
    name: 'goes-on-without-its-claim',
    fault: 'a step continues although another worker has taken its claim',
    file: 'engine/processes/claims.ts',
    at: "Claims / prolong / 'worker = $2 and key = $3 and step = $4 and lease_until = $5'",
    becomes: 'worker <> $2 and key = $3 and step = $4 and lease_until <> $5',
    caughtBy: { [goingOn]: 'a step does not continue if another worker has taken over its claim' },
  },
  {
    name: 'goes-on-while-stopping',
    fault: 'a step makes its next call although the workers are stopping',
    file: 'engine/processes/process-worker.ts',
    at: 'ProcessWorker / #prolonged / if 1',
    becomes: '',
    caughtBy: { [goingOn]: 'a step does not continue if the workers stop, and its row is given back' },
  },
  {
    name: 'goes-on-once-prolonged',
    fault: 'a step makes its next call although the workers were stopped during the extension of its lease',
    file: 'engine/processes/process-worker.ts',
    at: 'ProcessWorker / #prolonged / &&',
    becomes: '$left',
    caughtBy: {
      [goingOn]: 'a step does not continue if the workers stop while its lease is extended, and its row is given back',
    },
  },
  {
    name: 'throws-before-going-on-count',
    fault: 'a step that throws after an answered call backs off as if no call was made',
    file: 'engine/processes/process-worker.ts',
    at: 'ProcessWorker / #run / #run() / .arguments.0.properties.1',
    becomes: '$key',
    caughtBy: { [goingOn]: ['when a later run throws', 'when a later run waits'] },
  },
  {
    name: 'step-ends-before-its-answer',
    fault: 'a process that was suspended aborts a step whose call was answered meanwhile',
    file: 'engine/processes/step-run.ts',
    at: 'runStep / setImmediate()',
    becomes: '$arguments.0.body',
    caughtBy: { [egressStandstill]: 'counts, although the time limit of the step has passed' },
  },
  {
    name: 'lease-of-no-length',
    fault: 'the lease of an attempt is over immediately, so the next worker makes the attempt too',
    file: 'engine/processes/step-run.ts',
    at: 'leaseUntil 2 / +',
    becomes: '$left',
    caughtBy: { [pure]: 'ends a lease after its time' },
  },
  {
    name: 'waiting-is-success',
    fault: 'a wait for a lease resets the count of failures',
    file: 'engine/processes/step-run.ts',
    at: 'completionOf / failures 3',
    becomes: 'failures: 0',
    caughtBy: { [pure]: 'waits for an open attempt, and keeps the count of failures' },
  },
  {
    name: 'attempt-id-shared',
    fault: 'two workers begin an attempt under one id, and both count theirs as valid',
    file: 'engine/processes/step-identity.ts',
    at: 'attemptCommand / v7()',
    becomes: "'018f0000-0000-7000-8000-000000000000'",
    caughtBy: { [deliverStep]: 'is sent by one of several workers that run the step at once' },
  },
  {
    name: 'trace-ends-at-steps',
    fault: 'the trace of a request ends where a step follows',
    file: 'engine/processes/step-identity.ts',
    at: 'causeOf / ? / .alternate',
    becomes: '{}',
    caughtBy: {
      'test/engine/processes/step-identity.unit.test.ts': 'carries the trace of the event into every command of a step',
      'test/app/traces.int.test.ts': 'an assessment is one trace, from the POST to the webhook',
    },
  },
  {
    name: 'spans-without-bound',
    fault: 'spans fill the memory while the collector is away',
    file: 'platform/observability/span-export.ts',
    at: 'take / || / .left',
    becomes: 'false',
    caughtBy: {
      'test/platform/observability/span-export.int.test.ts': 'lets 2,048 spans wait, and a stop drops them',
    },
  },
  {
    name: 'id-not-derived',
    fault: 'a step that runs twice creates two ids',
    file: 'engine/processes/step-identity.ts',
    at: 'derivedV7 / update() / .arguments.0',
    becomes: 'String(performance.now())',
    caughtBy: { 'test/engine/processes/step-identity.unit.test.ts': 'is the same for the same cause and instant' },
  },
  {
    name: 'failing-rows-unlimited',
    fault: 'a claim takes every row that fails, so new rows wait behind them',
    file: 'engine/processes/claim-statements.ts',
    at: "claimStatement / 'order by c.not_before limit $15::integer'",
    becomes: 'order by c.not_before limit $11::integer',
    caughtBy: {
      [keyedClaims]: 'takes of the rows that fail no more than their quota, in the order of their next tries',
    },
  },
  {
    name: 'failing-steps-uncounted',
    fault: 'each claim takes another quarter of the workers for rows that fail',
    file: 'engine/processes/process-worker.ts',
    at: 'ProcessWorker / #claim / max()',
    becomes: 'this.#options.budget.quarter',
    caughtBy: {
      'test/engine/processes/worker-budget.int.test.ts':
        'rows that fail hold a quarter of the workers at most, and each gets its try',
    },
  },
  {
    name: 'claims-crosswise',
    fault: "two instances with expired leases wait for each other's claims while each gives its claims back",
    file: 'engine/processes/claim-statements.ts',
    at: "claimStatement / 'where due.has_claim for update of c skip locked'",
    becomes: 'where due.has_claim for update of c',
    caughtBy: { [lateCompletions]: 'is passed over by a claim' },
  },
  {
    name: 'filling-list-claimed',
    fault: 'steps run for rows of a to-do list that is being filled again',
    file: 'engine/processes/claim-statements.ts',
    at: "claimStatement / 'version = $5 and status = 'running''",
    becomes: 'version = $5',
    caughtBy: { [keyedClaims]: 'takes nothing from a list of another version or from a list that does not run' },
  },
  {
    name: 'claim-taken-twice',
    fault: 'a claim replaces the claim that another worker has committed in the meantime',
    file: 'engine/processes/claim-statements.ts',
    at: "claimStatement / 'excluded.lease_until where ${isOver('$3')} and'",
    becomes: 'excluded.lease_until where',
    caughtBy: { [lateCompletions]: 'a row that another worker claims during our claim stays with that worker' },
  },
  {
    name: 'lease-from-a-fast-clock',
    fault: 'rows of a dead instance wait until its clock, which was ahead, is reached',
    file: 'engine/processes/claim-statements.ts',
    at: "isOver / 'or c.lease_until > ${now}::timestamptz + interval '2 minutes''",
    becomes: '',
    caughtBy: { [workers]: 'take over at once from a dead instance whose clock was ahead' },
  },
  {
    name: 'unopened-attempt-calls',
    fault: 'a step makes its call although its attempt was not appended',
    file: 'engine/processes/attempt.ts',
    at: 'attempted / if 1 / .test',
    becomes: 'false',
    caughtBy: {
      [startStep]: 'makes no call on a provider case that another instance has replaced',
      [deliverStep]: 'is sent by one of several workers that run the step at once',
    },
  },
  {
    name: 'stop-is-an-outcome',
    fault: 'a call that a stop of the worker cuts off counts as a failed try',
    file: 'engine/processes/attempt.ts',
    at: 'callOutside / if',
    becomes: '',
    caughtBy: {
      [startStep]: 'by a stop has no outcome',
      'test/processes/ai-review/poll-step.int.test.ts': 'nor when a stop cuts it off',
    },
  },
  {
    name: 'time-out-is-a-stop',
    fault: 'a call that always takes too long is repeated for ever',
    file: 'engine/processes/attempt.ts',
    at: 'callOutside / !',
    becomes: 'true',
    caughtBy: { [startStep]: 'by its time limit is a try' },
  },
  {
    name: 'no-workers-reserved',
    fault: 'steps of one process that hang take the workers of all processes',
    file: 'engine/processes/worker-budget.ts',
    at: 'WorkerBudget / roomFor / max() 3 / -',
    becomes: '$left',
    caughtBy: {
      [workerBudget]: 'keeps half of an equal quota free for each other process',
      'test/engine/processes/worker-budget.int.test.ts':
        'steps of one process that hang do not take the workers that are reserved for the others',
    },
  },
  {
    name: 'no-worker-for-a-process',
    fault: 'with fewer workers than processes, no process runs a step',
    file: 'engine/processes/worker-budget.ts',
    at: 'WorkerBudget / roomFor / ?',
    becomes: '$alternate',
    caughtBy: { [workerBudget]: 'lets each process run a step although there are fewer workers than processes' },
  },
  {
    name: 'busy-process-first',
    fault: 'a busy process takes each worker that becomes free, before processes that have none',
    file: 'engine/processes/worker-budget.ts',
    at: 'WorkerBudget / freed / toSorted()',
    becomes: '$callee.object',
    caughtBy: { [workerBudget]: 'wakes the process with the fewest steps first when there is room' },
  },
]
