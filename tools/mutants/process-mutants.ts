import type { Mutant } from './mutant.ts'

const egressStandstill = 'test/platform/outbound/egress-standstill.int.test.ts'
const egress = 'test/platform/outbound/egress.int.test.ts'
const databaseAddress = 'test/platform/database/database-address.int.test.ts'
const startStep = 'test/processes/ai-review/start-step.int.test.ts'
const assessmentsList = 'test/processes/assessments/assessments-list.unit.test.ts'
const assessmentSteps = 'test/processes/assessments/assessment-steps.int.test.ts'
const sweepObjects = 'test/processes/housekeeping/sweep-objects.int.test.ts'
const resumePoint = 'test/engine/relay/resume-point.int.test.ts'

export const processMutants: readonly Mutant[] = [
  {
    name: 'case-of-a-dead-route',
    fault: 'an assessment whose route died after the submission never gets its case',
    file: 'processes/assessments/assessments.process.ts',
    at: 'AssessmentReviewRequested / ?',
    becomes: '[]',
    caughtBy: { [assessmentsList]: 'are its case in case the route opened none' },
  },
  {
    name: 'ended-without-a-case',
    fault: 'an assessment that ends before its route has opened the case never gets one, if the route has died',
    file: 'processes/assessments/conclude.steps.ts',
    at: 'conclude / openMissingCase()',
    becomes: 'undefined',
    caughtBy: { [assessmentSteps]: 'opens the case before it ends an assessment whose route died' },
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
    name: 'sent-reported-as-unsent',
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
    name: 'lease-never-ends',
    fault: 'an attempt blocks other workers at the very instant at which its lease ends',
    file: 'engine/commands/decision.ts',
    at: 'openLeaseEnd / >',
    becomes: '$left >= $right',
    caughtBy: {
      'test/engine/commands/decision.unit.test.ts':
        'waits for an open attempt until its lease ends, and not at that instant',
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
    at: 'start / outsideCall()',
    becomes: 'callOutside(step, checked.send).then(() => $self)',
    caughtBy: { [startStep]: 'by a stop has no outcome: its attempt stays open for the next worker' },
  },
  {
    name: 'superseded-before-recorded',
    fault: 'diagnoses are superseded although the earlier ones are not recorded yet',
    file: 'processes/clinical/findings.steps.ts',
    at: 'supersedeDiagnosesOfReview / recordOnce()',
    becomes: 'undefined',
    caughtBy: {
      'test/processes/clinical/findings-steps.int.test.ts':
        'records the findings before it supersedes their diagnoses, and not again after',
    },
  },
  {
    name: 'sweep-takes-all',
    fault: 'the sweep deletes images of closed days as orphans although events name them',
    file: 'processes/housekeeping/sweep-objects.ts',
    at: 'createSweep / named()',
    becomes: 'false',
    caughtBy: {
      [sweepObjects]: 'removes objects of a closed day that no event refers to, and nothing else',
    },
  },
  {
    name: 'sweep-of-today',
    fault: 'the sweep deletes images as orphans whose event is about to be appended',
    file: 'processes/housekeeping/sweep-objects.ts',
    at: 'closedAfterMs / .init',
    becomes: '-2 * $self',
    caughtBy: {
      [sweepObjects]: 'removes objects of a closed day that no event refers to, and nothing else',
    },
  },
  {
    name: 'relay-forgets-quiet',
    fault: 'a relay continues after its last event, without the quiet stretch that it has passed',
    file: 'engine/relay/resume-point.ts',
    at: 'resumePoint / return / ?',
    becomes: '$consequent',
    caughtBy: { [resumePoint]: 'is the later of the newest own event and the quiet stretch after it' },
  },
  {
    name: 'relay-from-the-start',
    fault: 'a relay does not read the position of its channel',
    file: 'engine/relay/resume-point.ts',
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
      'test/processes/timeline/withdrawn-consent.int.test.ts': 'before the start: the provider is not called',
    },
  },
]
