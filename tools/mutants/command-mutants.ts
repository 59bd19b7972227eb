import type { Mutant } from './mutant.ts'

const corrections = 'test/commands/clinical/correct-with-identifiers.int.test.ts'
const humanReviews = 'test/commands/clinical/human-reviews.unit.test.ts'

export const commandMutants: readonly Mutant[] = [
  {
    name: 'repeat-before-its-review',
    fault: 'a repeated superseding request returns the position of the claim, before the review exists',
    file: 'commands/ai-review/open-slot-holder.ts',
    at: 'openSlotHolder / reached',
    becomes: 'position: $value',
    caughtBy: {
      'test/end-to-end/main-job/review-ends.e2e.test.ts': 'twenty times at once with one key has one successor',
    },
  },
  {
    name: 'claim-ended-before-use',
    fault: 'an identifier that a correction has reserved and not yet taken goes to another caller',
    file: 'engine/commands/reservations.ts',
    at: 'judge / && 4',
    becomes: '$left',
    caughtBy: {
      [corrections]: 'no other request ends a claim that is about to be used',
      'test/engine/commands/reservations.int.test.ts':
        'stays for 30 s, because the owner may be about to use it, but does not count as held',
    },
  },
  {
    name: 'claim-not-renewed',
    fault: 'an identifier that was taken back is still freed by a caller that saw it dropped',
    file: 'engine/commands/reservations.ts',
    at: 'reserveFor / ||',
    becomes: '$left',
    caughtBy: { [corrections]: 'an identifier that is removed and added back before it is freed stays' },
  },
  {
    name: 'lost-identifier-kept',
    fault: 'a correction stands although another patient has got its identifier',
    file: 'commands/clinical/correct-with-identifiers.ts',
    at: 'correctWithIdentifiers / > 1',
    becomes: 'false',
    caughtBy: { [corrections]: 'is undone when another patient took an identifier' },
  },
  {
    name: 'late-identifier-taken',
    fault: 'two patients have one identifier if the claim of the first one ended before its event',
    file: 'commands/clinical/expire-claim.ts',
    at: 'expireClaim / ===',
    becomes: 'true',
    caughtBy: {
      [corrections]: 'is refused when another patient took an identifier',
      'test/commands/clinical/register-with-identifiers.int.test.ts':
        'is refused also if its process dies at its append',
    },
  },
  {
    name: 'expired-claim-used',
    fault: 'a repeated registration uses a claim that another patient is about to end',
    file: 'commands/clinical/register-with-identifiers.ts',
    at: 'registerWithIdentifiers / ?',
    becomes: 'undefined',
    caughtBy: {
      'test/commands/clinical/register-with-identifiers.int.test.ts': 'claims its identifiers again',
    },
  },
  {
    name: 'shared-claim-given-up',
    fault: 'a refused correction gives up an identifier that another correction of the patient is about to take',
    file: 'commands/clinical/identifier-reservations.ts',
    at: 'isMadeHere / === 1',
    becomes: 'true',
    caughtBy: { [corrections]: 'frees its other claims when it is refused' },
  },
  {
    name: 'stale-revision-refused',
    fault: "If-Match is compared with a revision older than another process's newer one",
    file: 'engine/commands/execute.ts',
    at: "execute / 'precondition-failed'",
    becomes: 'not-found',
    caughtBy: {
      'test/engine/commands/execute.int.test.ts':
        'accepts an expected revision that another process wrote, and no other',
    },
  },
  {
    name: 'closed-in-review',
    fault: 'a case is closed while a clinician decides about it',
    file: 'commands/clinical/close-case.ts',
    at: "closeCase / 'in_review'",
    becomes: 'closed',
    caughtBy: { 'test/commands/clinical/close-case.unit.test.ts': 'is refused in review' },
  },
  {
    name: 'opened-beside-a-task',
    fault: 'a case is open again while another task of it is open',
    file: 'commands/clinical/human-reviews.ts',
    at: 'endOf / some()',
    becomes: 'false',
    caughtBy: { [humanReviews]: 'leaves the case in review while another task is open' },
  },
  {
    name: 'diagnosed-twice',
    fault: 'a large decision that a crash cut off records diagnoses of the clinician again',
    file: 'commands/clinical/human-reviews.ts',
    at: 'endHumanReview / has()',
    becomes: 'false',
    caughtBy: { [humanReviews]: 'takes several appends, each within the limit, and ends with the last one' },
  },
]
