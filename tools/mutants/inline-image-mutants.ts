import type { Mutant } from './mutant.ts'

const create = 'test/commands/assessments/create-route.int.test.ts'

export const inlineImageMutants: readonly Mutant[] = [
  {
    name: 'staging-kept',
    fault: 'pieces of images stay after their request',
    file: 'commands/assessments/staged-image.ts',
    at: 'openImage / discard / removeUnnamed()',
    becomes: 'undefined',
    caughtBy: {
      'test/commands/assessments/staged-image.int.test.ts': 'removes its objects when it is discarded, also repeatedly',
      [create]: 'leaves no object behind when a request is refused after its images were staged',
    },
  },
  {
    name: 'images-kept',
    fault: 'images of a request stay although its append is refused and no event names them',
    file: 'commands/assessments/create-route.ts',
    at: 'addRoute / instanceof',
    becomes: 'false',
    caughtBy: { [create]: 'removes its objects when another request has used the key meanwhile' },
  },
  {
    name: 'case-of-a-repeat-unopened',
    fault: 'a repeat is answered with a case that is not open yet',
    file: 'commands/assessments/create-route.ts',
    at: 'addRoute / answer / ? 1',
    becomes: '$test && !$test.left.object.object.isReplayed ? $consequent : $alternate',
    caughtBy: { [create]: 'opens the case before it answers a repeat, if the first request ended without an answer' },
  },
  {
    name: 'padding-anywhere',
    fault: 'base64 with padding before its end is accepted',
    file: 'commands/assessments/base64-decoding.ts',
    at: 'createBase64Decoder / && 1',
    becomes: '$left',
    caughtBy: { 'test/commands/assessments/base64-decoding.unit.test.ts': 'padding before the end of a group' },
  },
  {
    name: 'second-data-taken',
    fault: 'two data members of one image are both accepted',
    file: 'platform/http/json-place.ts',
    at: 'createJsonPlace / name / if 4',
    becomes: '',
    caughtBy: { 'test/platform/http/json-extraction.unit.test.ts': 'two data members, one of which is no text' },
  },
]
