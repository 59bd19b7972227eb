import type { Mutant } from './mutant.ts'

const decoding = 'test/commands/assessments/base64-decoding.unit.test.ts'
const extraction = 'test/platform/http/json-extraction.unit.test.ts'
const create = 'test/commands/assessments/create-route.int.test.ts'
const staged = 'test/commands/assessments/staged-image.int.test.ts'

export const inlineImageMutants: readonly Mutant[] = [
  {
    name: 'staging-kept',
    fault: 'pieces of images stay after their request',
    file: 'commands/assessments/staged-image.ts',
    text: 'await Promise.allSettled(pieces.splice(0).map((key) => objects.remove(key)))',
    replacement: 'pieces.splice(0)',
    caughtBy: [
      { file: staged, test: 'removes its objects when it is discarded, also repeatedly' },
      { file: create, test: 'leaves no object behind when a request is refused after its images were staged' },
    ],
  },
  {
    name: 'images-kept',
    fault: 'images of a request stay although its append is refused and no event names them',
    file: 'commands/assessments/create-route.ts',
    text: 'if (error instanceof Problem) await stored.discard(',
    replacement: 'if (error instanceof Problem) void (',
    caughtBy: [{ file: create, test: 'removes its objects when another request has used the key meanwhile' }],
  },
  {
    name: 'case-of-a-repeat-unopened',
    fault: 'a repeat is answered with a case that is not open yet',
    file: 'commands/assessments/create-route.ts',
    text: "taken.state.status === 'processing' ? await openAssessmentCase",
    replacement: "taken.state.status === 'processing' && !taken.isReplayed ? await openAssessmentCase",
    caughtBy: [
      { file: create, test: 'opens the case before it answers a repeat, if the first request ended without an answer' },
    ],
  },
  {
    name: 'padding-anywhere',
    fault: 'base64 with padding before its end is accepted',
    file: 'commands/assessments/base64-decoding.ts',
    text: '(missing <= 2 && groups.at(-1) === padding)',
    replacement: 'missing <= 2',
    caughtBy: [{ file: decoding, test: 'padding before the end of a group' }],
  },
  {
    name: 'second-data-taken',
    fault: 'two data members of one image are both accepted',
    file: 'platform/http/json-place.ts',
    text: 'if (hasData) return false',
    replacement: 'if (hasData && hasImages === false) return false',
    caughtBy: [{ file: extraction, test: 'two data members, one of which is no text' }],
  },
]
