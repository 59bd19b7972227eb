import type { Mutant } from './mutant.ts'

const decisions = 'test/commands/webhooks/subscription-decisions.unit.test.ts'

export const subscriptionMutants: readonly Mutant[] = [
  {
    name: 'any-version-matches',
    fault: 'a webhook subscription is changed by a caller that read an earlier version of it',
    file: 'commands/webhooks/change-subscription.ts',
    at: 'isAdmitted / includes()',
    becomes: 'true',
    caughtBy: { [decisions]: 'needs the revision of its own last change, not that of the stream' },
  },
  {
    name: 'deleted-comes-back',
    fault: 'a late repeat of a create revives a deleted webhook subscription',
    file: 'commands/webhooks/subscribe-webhook.ts',
    at: 'subscribeWebhook / has()',
    becomes: 'false',
    caughtBy: { [decisions]: 'with the key of a deleted subscription is refused' },
  },
  {
    name: 'rotated-by-each-repeat',
    fault: "a repeat rotates the secret again, so that the receiver's secret is no longer current",
    file: 'streams/webhook-subscriptions/aggregate.ts',
    at: 'rotated / ?',
    becomes: '$consequent',
    caughtBy: { [decisions]: 'happens once for a key, also after its secret has ended' },
  },
  {
    name: 'replaced-secret-returned',
    fault: 'a late repeat of a create returns a secret that was replaced because it had leaked',
    file: 'commands/webhooks/routes.ts',
    at: 'webhookWriteRoutes / === 3',
    becomes: 'true',
    caughtBy: {
      'test/commands/webhooks/subscription-routes.int.test.ts':
        'with the same key gets its secret, until it was replaced',
    },
  },
  {
    name: 'key-gone-with-its-secret',
    fault: 'a delivery that was signed just before its key ended cannot be verified',
    file: 'read-api/webhooks/keys-route.ts',
    at: 'shownAfterEnd / .init',
    becomes: "'0 seconds'",
    caughtBy: {
      'test/read-api/webhooks/published-keys.int.test.ts':
        'are the signing keys of every organisation, newest first; a replaced key stays for ten minutes',
    },
  },
]
