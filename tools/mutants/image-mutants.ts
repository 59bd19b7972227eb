import type { Mutant } from './mutant.ts'

const decisions = 'test/commands/images/image-decisions.unit.test.ts'
const receive = 'test/commands/images/receive-upload.int.test.ts'
const sweep = 'test/processes/housekeeping/sweep-objects.int.test.ts'
const queries = 'test/read-api/queries.int.test.ts'

export const imageMutants: readonly Mutant[] = [
  {
    name: 'awaited-image-swept',
    fault: 'the sweep deletes the upload of an image that may still be submitted',
    file: 'processes/housekeeping/sweep-objects.ts',
    text: "return image.status === 'awaiting_upload' && isUploadOpen(at, image)",
    replacement: "return image.status === 'absent' && isUploadOpen(at, { closesAt: '' })",
    caughtBy: [{ file: sweep, test: 'keeps what an image by itself names or awaits, and nothing else of it' }],
  },
  {
    name: 'received-image-swept',
    fault: 'the sweep deletes the bytes of an image that belongs to no assessment',
    file: 'commands/images/uploads.ts',
    text: "state.status === 'received' ? [state.object.key] : []",
    replacement: "state.status === 'received' ? [] : []",
    caughtBy: [{ file: sweep, test: 'keeps what an image by itself names or awaits, and nothing else of it' }],
  },
  {
    name: 'refused-copy-kept',
    fault: 'the copy of an upload stays although the append of its submit is refused and no event names it',
    file: 'commands/assessments/take-uploads.ts',
    text: 'if (error instanceof Problem) await frozen.discard(',
    replacement: 'if (error instanceof Problem) void (',
    caughtBy: [
      { file: receive, test: 'refuses when the window closes while the upload is read, and leaves no copy behind' },
    ],
  },
  {
    name: 'unknown-copy-removed',
    fault: 'the copy of an upload is deleted although an event may name it',
    file: 'commands/assessments/take-uploads.ts',
    text: 'if (error instanceof Problem) await frozen.discard(',
    replacement: 'if (error !== undefined) await frozen.discard(',
    caughtBy: [{ file: receive, test: 'keeps the copy when the outcome of the append is unknown' }],
  },
  {
    name: 'image-taken-late',
    fault: 'an image accepts bytes after its window has closed',
    file: 'commands/images/image-decisions.ts',
    text: "isUploadOpen(now, state) ? 'upload'",
    replacement: "state.closesAt !== '' || isUploadOpen(now, state) ? 'upload'",
    caughtBy: [{ file: decisions, test: 'is refused after the window has closed, except for bytes already received' }],
  },
  {
    name: 'images-of-everybody',
    fault: 'an image is readable for every caller that has its id',
    file: 'read-api/tenant-rows.ts',
    text: '.where(`${alias}.org_id`, tenant)',
    replacement: ".whereRaw('?::uuid is not null', [tenant])",
    caughtBy: [{ file: queries, test: 'finds records of the organisation, and nothing for another organisation' }],
  },
]
