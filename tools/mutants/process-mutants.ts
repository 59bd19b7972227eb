import type { Mutant } from './mutant.ts'

const workers = 'test/processes/runtime/workers.int.test.ts'
const goingOn = 'test/processes/runtime/continued-steps.int.test.ts'
const pure = 'test/processes/runtime/pure.unit.test.ts'
const startStep = 'test/processes/ai-review/start-step.int.test.ts'
const deliverStep = 'test/processes/webhooks/deliver-step.int.test.ts'
const findingsSteps = 'test/processes/clinical/findings-steps.int.test.ts'
const egress = 'test/platform/outbound/egress.int.test.ts'
const databaseAddress = 'test/platform/database/database-address.int.test.ts'

export const processMutants: readonly Mutant[] = [
  {
    name: 'close-while-connecting-hangs',
    fault: 'workers that are closed while they connect wait for wake-up signals for ever',
    file: 'processes/runtime/wake-ups.ts',
    text: '    if (signal.aborted) resolve()\n',
    replacement: '',
    caughtBy: [{ file: workers, test: 'end when they close while they connect' }],
  },
  {
    name: 'claim-unfenced',
    fault: 'a row is processed again before its list has read the events of the step',
    file: 'processes/runtime/claims.ts',
    text: 'fence_commit = coalesce(x.fence_commit, c.fence_commit), fence_prepare = coalesce(x.fence_prepare, c.fence_prepare)',
    replacement: 'fence_commit = c.fence_commit',
    caughtBy: [{ file: workers, test: 'do not run a step again before its list contains the event that it appended' }],
  },
  {
    name: 'claim-without-lease',
    fault: 'a claim is free again immediately',
    file: 'processes/runtime/process-worker.ts',
    text: 'limit, at, new Date(lease), ',
    replacement: 'limit, at, at, ',
    caughtBy: [{ file: workers, test: 'of two instances work off each row once' }],
  },
  {
    name: 'lease-outlived',
    fault: 'a step whose claim waited for the database is still in its call when another worker makes the same call',
    file: 'processes/runtime/process-worker.ts',
    text: 'limitsWithin(Date.parse(until) - this.#options.now().getTime(), this.#options)',
    replacement: 'limitsWithin(this.#options.stepLeaseMs, this.#options)',
    caughtBy: [
      { file: 'test/processes/runtime/slow-claims.int.test.ts', test: 'has only the time that its lease has left' },
      {
        file: 'test/processes/runtime/slow-claims.int.test.ts',
        test: 'is claimed again if its lease has almost ended',
      },
    ],
  },
  {
    name: 'goes-on-under-a-short-lease',
    fault: 'a step makes its next call with the rest of its lease from before',
    file: 'processes/runtime/process-worker.ts',
    text: 'if (term?.limits.timeoutMs === stepTimeoutMs) return term',
    replacement: 'if (term !== undefined) return term',
    caughtBy: [{ file: goingOn, test: 'a step that continues extends a lease that has less left than the time limit' }],
  },
  {
    name: 'goes-on-without-its-claim',
    fault: 'a step continues although another worker has taken its claim',
    file: 'processes/runtime/claims.ts',
    text: 'where process = $1 and worker = $2 and key = $3 and step = $4 and lease_until = $5',
    replacement: 'where process = $1 and worker <> $2 and key = $3 and step = $4 and lease_until <> $5',
    caughtBy: [{ file: goingOn, test: 'a step does not continue if another worker has taken over its claim' }],
  },
  {
    name: 'goes-on-while-stopping',
    fault: 'a step makes its next call although the workers are stopping',
    file: 'processes/runtime/process-worker.ts',
    text: 'if (closing.aborted) return undefined',
    replacement: '',
    caughtBy: [{ file: goingOn, test: 'a step does not continue if the workers stop, and its row is given back' }],
  },
  {
    name: 'goes-on-once-prolonged',
    fault: 'a step makes its next call although the workers were stopped during the extension of its lease',
    file: 'processes/runtime/process-worker.ts',
    text: 'return isOurs && !closing.aborted ?',
    replacement: 'return isOurs ?',
    caughtBy: [
      {
        file: goingOn,
        test: 'a step does not continue if the workers stop while its lease is extended, and its row is given back',
      },
    ],
  },
  {
    name: 'throws-before-going-on-count',
    fault: 'a step that throws after an answered call backs off as if no call was made',
    file: 'processes/runtime/process-worker.ts',
    text: '      failures = 0\n',
    replacement: '',
    caughtBy: [
      { file: goingOn, test: 'when a later run throws' },
      { file: goingOn, test: 'when a later run waits' },
    ],
  },
  {
    name: 'call-ends-before-its-answer',
    fault: 'a process that was suspended repeats a call that was answered meanwhile',
    file: 'platform/outbound/egress.ts',
    text: "setTimeout(() => setImmediate(() => end(new EgressError('timeout', { mayHaveBeenSent: true }))), timeoutMs)",
    replacement: "setTimeout(() => end(new EgressError('timeout', { mayHaveBeenSent: true })), timeoutMs)",
    caughtBy: [
      {
        file: 'test/platform/outbound/egress-standstill.int.test.ts',
        test: 'counts, although the time limit of the call has passed',
      },
    ],
  },
  {
    name: 'connecting-outlives-its-limit',
    fault: 'a call without a connection continues past its time limit and past a stop',
    file: 'platform/outbound/egress.ts',
    text: '.request(asked), ending.unsent])',
    replacement: '.request(asked)])',
    caughtBy: [{ file: egress, test: 'ends unsent at its limit, and at the caller’s signal, while ' }],
  },
  {
    name: 'sent-told-as-unsent',
    fault: 'a call that ended while the other side worked on it is reported as never sent',
    file: 'platform/outbound/egress.ts',
    text: 'setImmediate(() => reject(new EgressError(error.code, { cause: error.cause })))',
    replacement: 'reject(new EgressError(error.code, { cause: error.cause }))',
    caughtBy: [{ file: egress, test: 'end a call whose answer does not arrive or does not end' }],
  },
  {
    name: 'database-address-rewritten',
    fault: 'a database whose password contains a bare % refuses the connection, because its URL was rewritten',
    file: 'platform/database/database.ts',
    text: 'connectionString: url,\n    Client:',
    replacement: `connectionString: ((address) => (address.searchParams.set('options', '-c jit=off'), address.href))(new URL(url)),\n    Client:`,
    caughtBy: [{ file: databaseAddress, test: 'with a bare % in its password' }],
  },
  {
    name: 'operator-options-dropped',
    fault: 'the database settings in PGOPTIONS are ignored',
    file: 'platform/database/database.ts',
    text: "[...ours, this.connectionParameters.options ?? '']",
    replacement:
      "[...ours, /[?&]options=/.test(config?.connectionString ?? '') ? (this.connectionParameters.options ?? '') : '']",
    caughtBy: [
      { file: databaseAddress, test: 'with PGOPTIONS, unless the address has options' },
      { file: databaseAddress, test: 'applies PGOPTIONS over our settings' },
    ],
  },
  {
    name: 'step-ends-before-its-answer',
    fault: 'a process that was suspended aborts a step whose call was answered meanwhile',
    file: 'processes/runtime/step-run.ts',
    text: "setImmediate(() => stopping.abort(new DOMException('the step took too long', 'TimeoutError')))",
    replacement: "stopping.abort(new DOMException('the step took too long', 'TimeoutError'))",
    caughtBy: [
      {
        file: 'test/platform/outbound/egress-standstill.int.test.ts',
        test: 'counts, although the time limit of the step has passed',
      },
    ],
  },
  {
    name: 'lease-of-no-length',
    fault: 'the lease of an attempt is over immediately, so the next worker makes the attempt too',
    file: 'processes/runtime/step-timing.ts',
    text: 'now.getTime() + leaseMs',
    replacement: 'now.getTime()',
    caughtBy: [{ file: pure, test: 'ends in the future and within a minute' }],
  },
  {
    name: 'lease-never-ends',
    fault: 'an attempt blocks other workers at the very instant at which its lease ends',
    file: 'commands/handling/decision.ts',
    text: 'leftMs > 0',
    replacement: 'leftMs >= 0',
    caughtBy: [
      {
        file: 'test/commands/handling/decision.unit.test.ts',
        test: 'waits for an open attempt until its lease ends, and not at that instant',
      },
    ],
  },
  {
    name: 'schedule-shifted',
    fault: 'the first delay of a retry schedule is skipped',
    file: 'processes/runtime/step-timing.ts',
    text: 'scheduleMs[attempt - 1]',
    replacement: 'scheduleMs[attempt]',
    caughtBy: [
      { file: pure, test: 'gives the delay after each try, and none when they are used up' },
      { file: deliverStep, test: 'is due again after the next delay of the schedule' },
    ],
  },
  {
    name: 'backoff-flat',
    fault: 'the delays between retries do not grow',
    file: 'platform/kit/backoff.ts',
    text: '2 ** Math.min(attempt - 1, 30)',
    replacement: '2',
    caughtBy: [{ file: 'test/platform/kit/backoff.unit.test.ts', test: 'doubles up to its limit' }],
  },
  {
    name: 'waiting-is-success',
    fault: 'a wait for a lease resets the count of failures',
    file: 'processes/runtime/step-run.ts',
    text: 'notBefore: result.until, failures }',
    replacement: 'notBefore: result.until, failures: 0 }',
    caughtBy: [{ file: pure, test: 'waits for an open attempt, which is no success' }],
  },
  {
    name: 'overtaken-plan-holds',
    fault: 'a call that was planned for one provider case is made although another case has replaced it',
    file: 'commands/ai-review/next-call.ts',
    text: 'return isDeepStrictEqual(nextCall(state, now), planned)',
    replacement: 'const next = nextCall(state, now)\n  return next.kind === planned.kind && next.call === planned.call',
    caughtBy: [{ file: startStep, test: 'makes no call on a provider case that another instance has replaced' }],
  },
  {
    name: 'unneeded-call-ends-review',
    fault: 'a review ends because of an unreadable image that another instance has sent',
    file: 'commands/ai-review/record-outcome.ts',
    text: 'isStillNext(of.unattempted, state, now)',
    replacement: 'state.openAttempt === null',
    caughtBy: [{ file: startStep, test: 'ends nothing because of an image that another instance has sent' }],
  },
  {
    name: 'call-before-attempt',
    fault: 'the provider is called before the attempt is in the stream',
    file: 'processes/ai-review/start.steps.ts',
    text: `  const opened = await openAttempt({ todo, step, store: deps.store }, target, (opening, state) =>
    attemptCall({ ...opening, next, consentCheckedAt }, state),
  )
  const { state: review } = opened
  if (!opened.isOpen || !isStarting(review)) return unclaimed(review, step.now())
  const answer = await answerOf(run, review, opened, call)
`,
    replacement: `  const answer = await callOutside(step, call)
  const opened = await openAttempt({ todo, step, store: deps.store }, target, (opening, state) =>
    attemptCall({ ...opening, next, consentCheckedAt }, state),
  )
  const { state: review } = opened
  if (!opened.isOpen || !isStarting(review)) return unclaimed(review, step.now())
`,
    caughtBy: [{ file: startStep, test: 'by a stop has no outcome: its attempt stays open for whoever comes next' }],
  },
  {
    name: 'attempt-id-shared',
    fault: 'two workers begin an attempt under one id, and both count theirs as valid',
    file: 'processes/runtime/step-identity.ts',
    text: 'return { commandId: v7(), correlationId',
    replacement: `return { commandId: v5('attempt', eventId), correlationId`,
    caughtBy: [{ file: deliverStep, test: 'is sent by one of several workers that are at it at once' }],
  },
  {
    name: 'loser-sends-too',
    fault: 'a worker that lost the race for an attempt still sends',
    file: 'processes/webhooks/deliver.steps.ts',
    text: `if (!attempt.isOpen || pending.status !== 'pending')`,
    replacement: `if (pending.status !== 'pending')`,
    caughtBy: [{ file: deliverStep, test: 'is sent by one of several workers that are at it at once' }],
  },
  {
    name: 'superseded-before-recorded',
    fault: 'diagnoses are superseded although the earlier ones are not recorded yet',
    file: 'processes/clinical/findings.steps.ts',
    text: '  await recordOnce(completed, deps)\n  const { aiReviewId',
    replacement: '  const { aiReviewId',
    caughtBy: [
      {
        file: findingsSteps,
        test: 'records the findings first where the diagnoses are superseded first, and not again after',
      },
    ],
  },
  {
    name: 'sweep-takes-all',
    fault: 'the sweep deletes settled images as orphans although events name them',
    file: 'processes/housekeeping/sweep-objects.ts',
    text: 'modifiedAt < settled && !(await named(key))',
    replacement: 'modifiedAt < settled && named !== undefined',
    caughtBy: [
      {
        file: 'test/processes/housekeeping/sweep-objects.int.test.ts',
        test: 'removes what a request has stored and no event names, on a settled day, and nothing else',
      },
    ],
  },
  {
    name: 'sweep-of-today',
    fault: 'the sweep deletes images as orphans whose event is about to be appended',
    file: 'processes/housekeeping/sweep-objects.ts',
    text: 'const settledMs = dayMs',
    replacement: 'const settledMs = -2 * dayMs',
    caughtBy: [
      {
        file: 'test/processes/housekeeping/sweep-objects.int.test.ts',
        test: 'removes what a request has stored and no event names, on a settled day, and nothing else',
      },
    ],
  },
  {
    name: 'id-not-derived',
    fault: 'a step that runs twice creates two ids',
    file: 'processes/runtime/step-identity.ts',
    text: '.update(name)',
    replacement: '.update(`${name}${performance.now()}`)',
    caughtBy: [
      { file: 'test/processes/runtime/step-identity.unit.test.ts', test: 'is the same whenever it is minted again' },
    ],
  },
  {
    name: 'relay-forgets-quiet',
    fault: 'a relay continues after its last event, without the quiet stretch that it has passed',
    file: 'processes/relay/resume-point.ts',
    text: 'source: comparePositions(published, quietSource) >= 0 ? published : quietSource }',
    replacement: 'source: published }',
    caughtBy: [
      {
        file: 'test/processes/relay/resume-point.int.test.ts',
        test: 'is the later of the newest own event and the quiet stretch after it',
      },
    ],
  },
  {
    name: 'relay-from-the-start',
    fault: 'a relay does not read the position of its channel',
    file: 'processes/relay/resume-point.ts',
    text: '    if (source !== undefined) return source\n',
    replacement: '    if (source === undefined) return source\n',
    caughtBy: [
      {
        file: 'test/processes/relay/resume-point.int.test.ts',
        test: 'is the later of the newest own event and the quiet stretch after it',
      },
    ],
  },
  {
    name: 'consent-as-good-as-granted',
    fault: 'any answer of the consent service permits an analysis',
    file: 'processes/adapters/consent-check.ts',
    text: `return status === 'granted' ? 'granted' : 'not-granted'`,
    replacement: `return status === '' ? 'not-granted' : 'granted'`,
    caughtBy: [
      {
        file: 'test/processes/timeline/withdrawn-consent.int.test.ts',
        test: 'before anything began: the provider hears nothing',
      },
    ],
  },
  {
    name: 'claims-crosswise',
    fault: "two instances with expired leases wait for each other's claims while each gives its claims back",
    file: 'processes/runtime/claim-statements.ts',
    text: 'where due.has_claim for update of c skip locked',
    replacement: 'where due.has_claim for update of c',
    caughtBy: [
      {
        file: 'test/processes/runtime/late-completions.int.test.ts',
        test: 'is passed over by a claim',
      },
    ],
  },
]
