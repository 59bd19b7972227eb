import type { Mutant } from './mutant.ts'

const rendering = 'test/platform/templates/rendering.unit.test.ts'
const routes = 'test/commands/notifications/template-routes.int.test.ts'

export const templateMutants: readonly Mutant[] = [
  {
    name: 'template-inherited-member',
    fault: 'a template reads what a value inherits from its prototype',
    file: 'platform/templates/interpreter.ts',
    at: 'member / hasOwn()',
    becomes: 'name in value',
    caughtBy: { [rendering]: 'an inherited member is missing' },
  },
  {
    name: 'template-deep-chain',
    fault: 'a chain of branches is parsed to any depth, which takes seconds',
    file: 'platform/templates/tokens.ts',
    at: "requireParsable / 'OPEN_INVERSE_CHAIN' 2",
    becomes: 'NOTHING',
    caughtBy: { [rendering]: 'branches count as blocks within each other' },
  },
  {
    name: 'template-guard-in-else',
    fault: 'a variable counts as given in the branch where it is missing',
    file: 'platform/templates/variables.ts',
    at: 'visit / ? 3',
    becomes: '$consequent',
    caughtBy: { [rendering]: '{{#if a}}x{{else}}{{a}}{{/if}}' },
  },
  {
    name: 'seed-makes-no-version',
    fault: 'a restored text keeps the version of the text that it replaces',
    file: 'commands/notifications/save-template.ts',
    at: 'saveTemplate / + 1',
    becomes: '$left',
    caughtBy: { [routes]: 'the next start restores them as a new version' },
  },
]
