import type { Mutant } from './mutant.ts'

const unsubscribe = 'test/commands/notifications/unsubscribe.int.test.ts'
const decisions = 'test/commands/notifications/settings.unit.test.ts'

export const settingMutants: readonly Mutant[] = [
  {
    name: 'link-for-ever',
    fault: 'an unsubscribe link works after its time',
    file: 'commands/notifications/unsubscribe-links.ts',
    at: 'openUnsubscribeToken / <',
    becomes: 'true',
    caughtBy: { [unsubscribe]: 'works for 180 days' },
  },
  {
    name: 'link-over-opt-in',
    fault: 'an old unsubscribe link ends a later opt-in',
    file: 'commands/notifications/preferences.ts',
    at: 'optOutByLink / ||',
    becomes: '$left',
    caughtBy: { [unsubscribe]: 'has no effect after a later opt-in', [decisions]: 'unless the user opted in after it' },
  },
  {
    name: 'suppressed-here-only',
    fault: 'the suppression of the platform holds nothing back',
    file: 'commands/notifications/suppressions.ts',
    at: 'isSuppressed / map() / .callee.object',
    becomes: '[orgId]',
    caughtBy: {
      'test/commands/notifications/suppressions.int.test.ts': 'holds for every organisation, and only platform clients',
    },
  },
  {
    name: 'mail-about-mail',
    fault: 'a rule sends a mail about each mail',
    file: 'commands/notifications/subscriptions.ts',
    at: 'isLoop / &&',
    becomes: 'false',
    caughtBy: { [decisions]: 'sends no message to a person about a message' },
  },
]
