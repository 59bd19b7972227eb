import type { Mutant } from './mutant.ts'

const decisions = 'test/commands/clinical/erase-patient.unit.test.ts'
const steps = 'test/processes/clinical/erasure-steps.int.test.ts'
const followed = 'test/contracts/clinical/followed-erasures.int.test.ts'
const erasureFile = 'test/app/backup/erasure-file.int.test.ts'
const vault = 'test/platform/vault/vault.int.test.ts'

export const erasureMutants: readonly Mutant[] = [
  {
    name: 'erased-despite-hold',
    fault: 'an erasure starts while a legal hold forbids it',
    file: 'commands/clinical/erase-patient.ts',
    at: 'requestErasure / isHeld()',
    becomes: 'false',
    caughtBy: { [decisions]: 'stops request and approval while it is in force' },
  },
  {
    name: 'erasure-approved-alone',
    fault: 'one person asks for an erasure and approves it',
    file: 'commands/clinical/erase-patient.ts',
    at: 'approveErasure / === 3',
    becomes: 'false',
    caughtBy: { [decisions]: 'starts when another user approves it' },
  },
  {
    name: 'key-before-objects',
    fault: 'the key is destroyed while objects of the patient remain',
    file: 'processes/clinical/erased-keys.steps.ts',
    at: 'destroyKeys / areDone()',
    becomes: 'true',
    caughtBy: { [steps]: 'goes on with the other steps while one fails, and shows its code once' },
  },
  {
    name: 'user-key-before-account',
    fault: 'the key of a user is destroyed while the account remains',
    file: 'commands/users/status.ts',
    at: 'mayDestroyKey / === 2',
    becomes: 'true',
    caughtBy: {
      'test/commands/users/users.unit.test.ts':
        'the key of an erased user ends after the account, and the erasure after the key, each once',
    },
  },
  {
    name: 'restored-user-lives',
    fault: 'a user whom the ledger names lives on after a restore',
    file: 'app/erasure-ledger.ts',
    at: 'beginAgain / startErasureAgain()',
    becomes: '[]',
    caughtBy: {
      'test/app/erasure-ledger.int.test.ts': 'a user whom a backup brought back is erased again, in any status, once',
    },
  },
  {
    name: 'restored-patient-lives',
    fault: 'a person whom the file of erasures names lives on after a restore',
    file: 'app/backup/erasure-file.ts',
    at: 'enterErasures / enter()',
    becomes: 'undefined',
    caughtBy: {
      [erasureFile]: 'a person who was erased after the backup stays erased in its copy, and nobody else is',
    },
  },
  {
    name: 'forged-line-passed-over',
    fault: 'a restore takes a file of erasures with a line that nobody signed',
    file: 'app/backup/erasure-file.ts',
    at: 'enterErasures / isSigned()',
    becomes: 'true',
    caughtBy: { [erasureFile]: 'a line that the vault did not sign is named, and no line is entered' },
  },
  {
    name: 'exports-backed-up',
    fault: 'a backup keeps exports, which no key of the patient seals, longer than a day',
    file: 'app/backup/sources.ts',
    at: 'lasting / startsWith()',
    becomes: 'false',
    caughtBy: {
      'test/app/backup/sources.int.test.ts': 'a backup has the objects of the store without the exports',
    },
  },
  {
    name: 'late-upload-kept',
    fault: 'an upload by an address from before the erasure stays',
    file: 'processes/clinical/erased-objects.steps.ts',
    at: 'deleteLateObjects / ?',
    becomes: 'undefined',
    caughtBy: { [steps]: 'waits for the end of the last upload address' },
  },
  {
    name: 'accepted-late-kept',
    fault: 'an image stays that a process accepted after the erasure, because it did not know of it',
    file: 'processes/clinical/sweep-erased.ts',
    at: 'removeLate / deleteAll()',
    becomes: '{ objects: 0, until: 0 }',
    caughtBy: { [steps]: 'is followed by a sweep of what a process accepted late that did not know of it' },
  },
  {
    name: 'unlinked-elsewhere',
    fault: 'an erasure takes the link of an account to a patient of another organisation that has the same id',
    file: 'processes/clinical/erased-work.steps.ts',
    at: 'unlinkAccounts / includes()',
    becomes: 'true',
    caughtBy: { [steps]: 'takes the link of a former member, and none to a patient of another organisation' },
  },
  {
    name: 'recorded-after-erasure',
    fault: 'a request records something about a patient whose erasure has begun',
    file: 'contracts/clinical/erasure-guard.ts',
    at: 'createErasureGuard / isClosed()',
    becomes: 'false',
    caughtBy: { [followed]: 'a request records nothing about a patient whose erasure another process began' },
  },
  {
    name: 'closed-key-encrypts',
    fault: 'the key of a patient encrypts after the erasure has begun',
    file: 'platform/vault/vault.ts',
    at: 'Vault / subjectKeyForWriting / has()',
    becomes: 'false',
    caughtBy: { [vault]: 'a closed key encrypts nothing more, and opens what it encrypted' },
  },
  {
    name: 'older-version-kept',
    fault: 'an older version of a photograph stays in a bucket with versions',
    file: 'platform/storage/removed-versions.ts',
    at: 'removeVersions / === 1',
    becomes: 'true',
    caughtBy: {
      'test/platform/storage/removed-versions.int.test.ts':
        'every version and every mark of a deletion goes, of each object with the prefix and of no other',
    },
  },
  {
    name: 'full-webhook-of-erased',
    fault: 'a webhook of an erased patient has the whole record',
    file: 'processes/webhooks/delivery-body.ts',
    at: 'bodyOf / isClosed()',
    becomes: 'false',
    caughtBy: {
      'test/processes/webhooks/delivery-body.int.test.ts':
        'are thin from the beginning of the erasure of the patient, also for a decision and a redelivery',
    },
  },
  {
    name: 'erased-in-agreement',
    fault: 'the figures of agreement count an erased patient',
    file: 'read-api/human-review/agreement.ts',
    at: 'agreementRoute / closedOf()',
    becomes: '[]',
    caughtBy: {
      'test/commands/human-review/tasks.int.test.ts': 'the agreement counts decisions by provider version and category',
    },
  },
  {
    name: 'forged-erasure-applied',
    fault: 'an entry of the ledger that nobody signed destroys a key',
    file: 'platform/vault/vault.ts',
    at: 'Vault / isSigned / areEqualSecrets()',
    becomes: 'true',
    caughtBy: {
      'test/app/erasure-ledger.int.test.ts':
        'an entry of the object store destroys a key that exists, and an altered one does nothing',
    },
  },
]
