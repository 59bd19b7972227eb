import { expect, test } from 'vitest'
import { missingNames, readTree } from './guides.ts'

const tree = await readTree()
const planted = (text: string, path = 'processes/README.md') => missingNames({ path, text }, tree)

test('all files and names in folder READMEs exist', () => {
  expect(tree.guides.length).toBeGreaterThan(10)
  expect(tree.guides.flatMap((guide) => missingNames(guide, tree).map((name) => `${guide.path}:${name}`))).toEqual([])
})

test.each([
  ['a file', 'See `runtime/no-such-file.ts`.', '1: runtime/no-such-file.ts'],
  ['a folder', '\nSee `processes/nowhere/`.', '2: processes/nowhere/'],
  ['a folder without a final slash', 'See `processes/nowhere`.', '1: processes/nowhere'],
  ['a pattern', 'One file each: `processes/<service>/<name>.nothing.ts`', '1: processes/<service>/<name>.nothing.ts'],
  ['a link', 'See [there](../docs/nowhere.md).', '1: ../docs/nowhere.md'],
  ['a name', 'Call `defineNothing`.', '1: defineNothing'],
  ['a call', 'Call `defineNothing({ name })`.', '1: defineNothing'],
  ['a member', 'It reads `runtime.nothingness`.', '1: nothingness'],
  ['a name in a longer text', 'Run `NO_SUCH_VARIABLE=1 npm test`.', '1: NO_SUCH_VARIABLE'],
  [
    'a name in a file that does not contain it',
    '| `processes/<service>/<name>.channel.ts` | `defineProcess` |',
    '1: defineProcess',
  ],
])('%s is reported if it does not exist', (_what, text, missing) => {
  expect(planted(text)).toEqual([missing])
})

test.each([
  'Call `defineProcess` in `engine/processes/define-process.ts`, as `processes/<service>/<name>.process.ts` does.',
  '| `processes/<service>/<name>.process.ts` | `defineProcess` |',
  'See [the decision](../docs/decisions/0014-node-cron-runs-the-sweep.md), `GET /health/live` and `credentials.json`.',
  '```sh\nno_such_command\n```',
])('%s is not', (text) => {
  expect(planted(text)).toEqual([])
})

test('a name in an example is reported where the type checker does not read it', () => {
  const example = '```ts\nconst made = defineNothing(1)\n```'
  expect(planted(example, 'tools/bench/README.md')).toEqual(['2: defineNothing'])
  expect(planted(example, 'processes/README.md')).toEqual([])
})
