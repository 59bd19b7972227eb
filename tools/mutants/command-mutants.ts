import type { Mutant } from './mutant.ts'

const corrections = 'test/commands/clinical/correct-with-identifiers.int.test.ts'
const reservations = 'test/commands/handling/reservations.int.test.ts'

export const commandMutants: readonly Mutant[] = [
  {
    name: 'repeat-before-its-review',
    fault: 'a repeated superseding request returns the position of the claim, before the review exists',
    file: 'commands/ai-review/open-slot-holder.ts',
    text: 'const { reached } = await execute(store, target',
    replacement: 'const { position: reached } = await execute(store, target',
    caughtBy: [
      {
        file: 'test/end-to-end/main-job/review-ends.e2e.test.ts',
        test: 'two hundred times at once with one key has one successor',
      },
    ],
  },
  {
    name: 'claim-ended-before-use',
    fault: 'an identifier that a correction has reserved and not yet taken goes to another caller',
    file: 'commands/handling/reservations.ts',
    text: "(owner === 'lacking' && status === 'confirmed')",
    replacement: "owner === 'lacking'",
    caughtBy: [
      { file: corrections, test: 'no other request ends a claim that is about to be used' },
      {
        file: reservations,
        test: 'stays for 30 s, because the owner may be about to use it, but does not count as held',
      },
    ],
  },
  {
    name: 'claim-not-renewed',
    fault: 'an identifier that was taken back is still freed by a caller that saw it dropped',
    file: 'commands/handling/reservations.ts',
    text: '(isRenewing && state.reservation.ownerId === ownerId && state.reservation.claimId !== claimId)',
    replacement: 'isRenewing === undefined',
    caughtBy: [{ file: corrections, test: 'an identifier that is removed and added back before it is freed stays' }],
  },
  {
    name: 'lost-identifier-kept',
    fault: 'a correction stands although another patient has got its identifier',
    file: 'commands/clinical/correct-with-identifiers.ts',
    text: 'if (lost.length > 0) {',
    replacement: 'if (lost.length < 0) {',
    caughtBy: [{ file: corrections, test: 'is undone when another patient took an identifier' }],
  },
  {
    name: 'stale-revision-refused',
    fault: "If-Match is compared with a revision older than another process's newer one",
    file: 'commands/handling/execute.ts',
    text: "error.code === 'precondition-failed'",
    replacement: "error.code === 'not-found'",
    caughtBy: [
      {
        file: 'test/commands/handling/execute.int.test.ts',
        test: 'accepts an expected revision that another process wrote, and no other',
      },
    ],
  },
]
