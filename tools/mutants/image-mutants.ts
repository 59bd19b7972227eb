import type { Mutant } from './mutant.ts'

const sweep = 'test/processes/housekeeping/sweep-objects.int.test.ts'
const receive = 'test/commands/images/receive-upload.int.test.ts'

export const imageMutants: readonly Mutant[] = [
  {
    name: 'awaited-image-swept',
    fault: 'the sweep deletes the upload of an image that may still be submitted',
    file: 'processes/housekeeping/sweep-objects.ts',
    at: 'mayBeSubmitted / return 2',
    becomes: 'return false',
    caughtBy: { [sweep]: 'keeps the objects that an image alone refers to or awaits, and no others of it' },
  },
  {
    name: 'received-image-swept',
    fault: 'the sweep deletes the bytes of an image that belongs to no assessment',
    file: 'commands/images/uploads.ts',
    at: 'keysOfImage / ?',
    becomes: '$alternate',
    caughtBy: { [sweep]: 'keeps the objects that an image alone refers to or awaits, and no others of it' },
  },
  {
    name: 'refused-copy-kept',
    fault: 'the copy of an upload stays although the append of its submit is refused and no event names it',
    file: 'commands/assessments/take-uploads.ts',
    at: 'takeUploads / instanceof 2',
    becomes: 'false',
    caughtBy: { [receive]: 'refuses when the window closes while the upload is read, and leaves no copy behind' },
  },
  {
    name: 'unknown-copy-removed',
    fault: 'the copy of an upload is deleted although an event may name it',
    file: 'commands/assessments/take-uploads.ts',
    at: 'takeUploads / instanceof 2',
    becomes: 'true',
    caughtBy: { [receive]: 'keeps the copy when the outcome of the append is unknown' },
  },
  {
    name: 'image-taken-late',
    fault: 'an image accepts bytes after its window has closed',
    file: 'commands/images/image-decisions.ts',
    at: 'meetImageSubmission / isUploadOpen()',
    becomes: 'true',
    caughtBy: {
      'test/commands/images/image-decisions.unit.test.ts':
        'is refused after the window has closed, except for bytes already received',
    },
  },
  {
    name: 'images-of-everybody',
    fault: 'an image is readable for every caller that has its id',
    file: 'engine/reads/tenant-rows.ts',
    at: 'rowsOfTenant / where()',
    becomes: '$callee.object',
    caughtBy: {
      'test/read-api/queries.int.test.ts': 'finds records of the organisation, and nothing for another organisation',
    },
  },
]
