import type { Mutant } from './mutant.ts'

const workers = 'test/processes/runtime/workers.int.test.ts'
const goingOn = 'test/processes/runtime/continued-steps.int.test.ts'
const egressStandstill = 'test/platform/outbound/egress-standstill.int.test.ts'
const egress = 'test/platform/outbound/egress.int.test.ts'
const databaseAddress = 'test/platform/database/database-address.int.test.ts'
const pure = 'test/processes/runtime/pure.unit.test.ts'
const deliverStep = 'test/processes/webhooks/deliver-step.int.test.ts'
const startStep = 'test/processes/ai-review/start-step.int.test.ts'
const sweepObjects = 'test/processes/housekeeping/sweep-objects.int.test.ts'
const resumePoint = 'test/processes/relay/resume-point.int.test.ts'

export const processMutants: readonly Mutant[] = [
  {
    name: 'close-while-connecting-hangs',
    fault: 'workers that are closed while they connect wait for wake-up signals for ever',
    file: 'processes/runtime/wake-ups.ts',
    at: 'untilLost / if',
    becomes: '',
    caughtBy: { [workers]: 'end when they are closed while they connect' },
  },
  {
    name: 'claim-unfenced',
    fault: 'a row is processed again before its list has read the events of the step',
    file: 'processes/runtime/claims.ts',
    at: "Claims / 'fence_commit = coalesce(x.fence_commit, c.fence_commit), fence_prepare = coalesce(x.fence_prepare, c.fence_prepare)'",
    becomes: 'fence_commit = c.fence_commit',
    caughtBy: { [workers]: 'do not run a step again before its list has seen what it appended' },
  },
  {
    name: 'claim-without-lease',
    fault: 'a claim is free again immediately',
    file: 'processes/runtime/process-worker.ts',
    at: 'ProcessWorker / completeAndClaim() / .arguments.3',
    becomes: 'new Date(0)',
    caughtBy: { [workers]: 'share a list between instances without working anything off twice' },
  },
  {
    name: 'lease-outlived',
    fault: 'a step whose claim waited for the database is still in its call when another worker makes the same call',
    file: 'processes/runtime/process-worker.ts',
    at: 'ProcessWorker / #termOf / limitsWithin()',
    becomes: 'limitsWithin($arguments.1.stepLeaseMs, $arguments.1)',
    caughtBy: {
      'test/processes/runtime/slow-claims.int.test.ts': [
        'has no more time than its lease has left',
        'is claimed anew where its lease is as good as over',
      ],
    },
  },
  {
    name: 'goes-on-under-a-short-lease',
    fault: 'a step makes its next call with the rest of its lease from before',
    file: 'processes/runtime/process-worker.ts',
    at: 'ProcessWorker / #prolonged / if 2',
    becomes: 'if ($consequent.argument !== undefined) $consequent',
    caughtBy: { [goingOn]: 'has the lease made longer once that leaves it less than its time limit' },
  },
  {
    name: 'goes-on-without-its-claim',
    fault: 'a step continues although another worker has taken its claim',
    file: 'processes/runtime/claims.ts',
    at: "Claims / prolong / 'worker = $2 and key = $3 and step = $4 and lease_until = $5'",
    becomes: 'worker <> $2 and key = $3 and step = $4 and lease_until <> $5',
    caughtBy: { [goingOn]: 'is left to whoever has taken its claim over' },
  },
  {
    name: 'goes-on-while-stopping',
    fault: 'a step makes its next call although the workers are stopping',
    file: 'processes/runtime/process-worker.ts',
    at: 'ProcessWorker / #prolonged / if 1',
    becomes: '',
    caughtBy: { [goingOn]: 'is given back by workers that are to stop' },
  },
  {
    name: 'goes-on-once-prolonged',
    fault: 'a step makes its next call although the workers were stopped during the extension of its lease',
    file: 'processes/runtime/process-worker.ts',
    at: 'ProcessWorker / #prolonged / &&',
    becomes: '$left',
    caughtBy: { [goingOn]: 'is given back by workers that are told to stop while its lease is made longer' },
  },
  {
    name: 'throws-before-going-on-count',
    fault: 'a step that throws after an answered call backs off as if no call was made',
    file: 'processes/runtime/process-worker.ts',
    at: 'ProcessWorker / for 2 / = 1',
    becomes: 'undefined',
    caughtBy: { [goingOn]: ['to a run that throws after it', 'to a run that waits after it'] },
  },
  {
    name: 'call-ends-before-its-answer',
    fault: 'a process that was suspended repeats a call that was answered meanwhile',
    file: 'platform/outbound/egress.ts',
    at: 'endAfter / setTimeout() / setImmediate()',
    becomes: '$arguments.0.body',
    caughtBy: { [egressStandstill]: 'counts, although the time limit of the call has passed' },
  },
  {
    name: 'connecting-outlives-its-limit',
    fault: 'a call without a connection continues past its time limit and past a stop',
    file: 'platform/outbound/egress.ts',
    at: 'createEgress / race() / .arguments.0',
    becomes: '[$elements.0]',
    caughtBy: { [egress]: 'ends unsent at its limit, and at the caller’s signal, while ' },
  },
  {
    name: 'sent-told-as-unsent',
    fault: 'a call that ended while the other side worked on it is reported as never sent',
    file: 'platform/outbound/egress.ts',
    at: 'endAfter / setImmediate() 1',
    becomes: '$arguments.0.body',
    caughtBy: { [egress]: 'end a call whose answer does not arrive or does not end' },
  },
  {
    name: 'database-address-rewritten',
    fault: 'a database whose password contains a bare % refuses the connection, because its URL was rewritten',
    file: 'platform/database/database.ts',
    at: 'createPool / connectionString / .value',
    becomes: "((address) => (address.searchParams.set('options', '-c jit=off'), address.href))(new URL($self))",
    caughtBy: { [databaseAddress]: 'with a bare % in its password' },
  },
  {
    name: 'operator-options-dropped',
    fault: 'the database settings in PGOPTIONS are ignored',
    file: 'platform/database/database.ts',
    at: 'clientWith / constructor / ??',
    becomes: "''",
    caughtBy: {
      [databaseAddress]: ['with PGOPTIONS, unless the address has options', 'applies PGOPTIONS over our settings'],
    },
  },
  {
    name: 'step-ends-before-its-answer',
    fault: 'a process that was suspended aborts a step whose call was answered meanwhile',
    file: 'processes/runtime/step-run.ts',
    at: 'runStep / setImmediate()',
    becomes: '$arguments.0.body',
    caughtBy: { [egressStandstill]: 'counts, although the time limit of the step has passed' },
  },
  {
    name: 'lease-of-no-length',
    fault: 'the lease of an attempt is over immediately, so the next worker makes the attempt too',
    file: 'processes/runtime/step-timing.ts',
    at: 'leaseUntil / +',
    becomes: '$left',
    caughtBy: { [pure]: 'ends in the future and within a minute' },
  },
  {
    name: 'lease-never-ends',
    fault: 'an attempt blocks other workers at the very instant at which its lease ends',
    file: 'commands/handling/decision.ts',
    at: 'openLeaseEnd / >',
    becomes: '$left >= $right',
    caughtBy: {
      'test/commands/handling/decision.unit.test.ts':
        'waits for an open attempt until its lease ends, and not at that instant',
    },
  },
  {
    name: 'schedule-shifted',
    fault: 'the first delay of a retry schedule is skipped',
    file: 'processes/runtime/step-timing.ts',
    at: 'nextDelay / -',
    becomes: '$left',
    caughtBy: {
      [pure]: 'gives the delay after each try, and none when they are used up',
      [deliverStep]: 'is due again after the next delay of the schedule',
    },
  },
  {
    name: 'backoff-flat',
    fault: 'the delays between retries do not grow',
    file: 'platform/kit/backoff.ts',
    at: 'backoffMs / **',
    becomes: '$left',
    caughtBy: { 'test/platform/kit/backoff.unit.test.ts': 'doubles up to its limit' },
  },
  {
    name: 'waiting-is-success',
    fault: 'a wait for a lease resets the count of failures',
    file: 'processes/runtime/step-run.ts',
    at: 'completionOf / failures 3',
    becomes: 'failures: 0',
    caughtBy: { [pure]: 'waits for an open attempt, which is no success' },
  },
  {
    name: 'overtaken-plan-holds',
    fault: 'a call that was planned for one provider case is made although another case has replaced it',
    file: 'commands/ai-review/next-call.ts',
    at: 'isStillNext / isDeepStrictEqual()',
    becomes: '[$arguments.0].every((next) => next.kind === $arguments.1.kind && next.call === $arguments.1.call)',
    caughtBy: { [startStep]: 'makes no call on a provider case that another instance has replaced' },
  },
  {
    name: 'unneeded-call-ends-review',
    fault: 'a review ends because of an unreadable image that another instance has sent',
    file: 'commands/ai-review/record-outcome.ts',
    at: 'recordOutcome / isStillNext()',
    becomes: '$arguments.1.openAttempt === null',
    caughtBy: { [startStep]: 'ends nothing because of an image that another instance has sent' },
  },
  {
    name: 'call-before-attempt',
    fault: 'the provider is called before the attempt is in the stream',
    file: 'processes/ai-review/start.steps.ts',
    at: 'attempt / execute()',
    becomes: 'answerOf(run, run.loaded, context, call).then(() => (throwIfStopping(step.signal), $self))',
    caughtBy: { [startStep]: 'by a stop has no outcome: its attempt stays open for whoever comes next' },
  },
  {
    name: 'attempt-id-shared',
    fault: 'two workers begin an attempt under one id, and both count theirs as valid',
    file: 'processes/runtime/step-identity.ts',
    at: 'attemptCommand / commandId / .value',
    becomes: "'018f0000-0000-7000-8000-000000000000'",
    caughtBy: { [deliverStep]: 'is sent by one of several workers that are at it at once' },
  },
  {
    name: 'loser-sends-too',
    fault: 'a worker that lost the race for an attempt still sends',
    file: 'processes/webhooks/deliver.steps.ts',
    at: 'deliver / ||',
    becomes: '$right',
    caughtBy: { [deliverStep]: 'is sent by one of several workers that are at it at once' },
  },
  {
    name: 'superseded-before-recorded',
    fault: 'diagnoses are superseded although the earlier ones are not recorded yet',
    file: 'processes/clinical/findings.steps.ts',
    at: 'supersedeDiagnosesOfReview / recordOnce()',
    becomes: 'undefined',
    caughtBy: {
      'test/processes/clinical/findings-steps.int.test.ts':
        'records the findings first where the diagnoses are superseded first, and not again after',
    },
  },
  {
    name: 'sweep-takes-all',
    fault: 'the sweep deletes settled images as orphans although events name them',
    file: 'processes/housekeeping/sweep-objects.ts',
    at: 'createSweep / named()',
    becomes: 'false',
    caughtBy: {
      [sweepObjects]: 'removes what a request has stored and no event names, on a settled day, and nothing else',
    },
  },
  {
    name: 'sweep-of-today',
    fault: 'the sweep deletes images as orphans whose event is about to be appended',
    file: 'processes/housekeeping/sweep-objects.ts',
    at: 'settledMs / .init',
    becomes: '-2 * $self',
    caughtBy: {
      [sweepObjects]: 'removes what a request has stored and no event names, on a settled day, and nothing else',
    },
  },
  {
    name: 'id-not-derived',
    fault: 'a step that runs twice creates two ids',
    file: 'processes/runtime/step-identity.ts',
    at: 'derivedV7 / update() / .arguments.0',
    becomes: 'String(performance.now())',
    caughtBy: { 'test/processes/runtime/step-identity.unit.test.ts': 'is the same whenever it is minted again' },
  },
  {
    name: 'relay-forgets-quiet',
    fault: 'a relay continues after its last event, without the quiet stretch that it has passed',
    file: 'processes/relay/resume-point.ts',
    at: 'resumePoint / return 2 / ?',
    becomes: '$consequent',
    caughtBy: { [resumePoint]: 'is the later of the newest own event and the quiet stretch after it' },
  },
  {
    name: 'relay-from-the-start',
    fault: 'a relay does not read the position of its channel',
    file: 'processes/relay/resume-point.ts',
    at: 'newestOwn / if / .test',
    becomes: '!($self)',
    caughtBy: { [resumePoint]: 'is the later of the newest own event and the quiet stretch after it' },
  },
  {
    name: 'consent-as-good-as-granted',
    fault: 'any answer of the consent service permits an analysis',
    file: 'processes/adapters/consent-check.ts',
    at: 'createConsentCheck / ?',
    becomes: '$consequent',
    caughtBy: {
      'test/processes/timeline/withdrawn-consent.int.test.ts': 'before anything began: the provider hears nothing',
    },
  },
  {
    name: 'claims-crosswise',
    fault: "two instances with expired leases wait for each other's claims while each gives its claims back",
    file: 'processes/runtime/claims.ts',
    at: "Claims / 'where due.has_claim for update of c skip locked'",
    becomes: 'where due.has_claim for update of c',
    caughtBy: {
      'test/processes/runtime/late-completions.int.test.ts': 'is passed over by one who gives back and claims',
    },
  },
]
