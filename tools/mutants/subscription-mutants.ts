import type { Mutant } from './mutant.ts'

const decisions = 'test/commands/webhooks/subscription-decisions.unit.test.ts'
const routes = 'test/commands/webhooks/subscription-routes.int.test.ts'

export const subscriptionMutants: readonly Mutant[] = [
  {
    name: 'any-version-matches',
    fault: 'a webhook subscription is changed by a caller that read an earlier version of it',
    file: 'commands/webhooks/change-subscription.ts',
    text: 'admitted.includes(BigInt(revision))',
    replacement: 'admitted.length > 0',
    caughtBy: [{ file: decisions, test: 'needs the revision of its own last change, not that of the stream' }],
  },
  {
    name: 'deleted-comes-back',
    fault: 'a late repeat of a create revives a deleted webhook subscription',
    file: 'commands/webhooks/subscribe-webhook.ts',
    text: 'state.deleted.has(command.subscriptionId)',
    replacement: `state.deleted.has('')`,
    caughtBy: [
      {
        file: decisions,
        test: 'with the key of a deleted subscription is refused',
      },
    ],
  },
  {
    name: 'rotated-by-each-repeat',
    fault: "a repeat rotates the secret again, so that the receiver's secret is no longer current",
    file: 'streams/webhook-subscriptions/aggregate.ts',
    text: 'request === null ? before.keyedRotations : before',
    replacement: 'request !== undefined ? before.keyedRotations : before',
    caughtBy: [{ file: decisions, test: 'happens once for a key, also after its secret has ended' }],
  },
  {
    name: 'replaced-secret-told',
    fault: 'a late repeat of a create returns a secret that was replaced because it had leaked',
    file: 'commands/webhooks/routes.ts',
    text: 'own.secrets[0].secretId === keyed.id',
    replacement: 'own.secrets.length > 0',
    caughtBy: [{ file: routes, test: 'with the same key gets its secret, until it was replaced' }],
  },
  {
    name: 'key-gone-with-its-secret',
    fault: 'a delivery that was signed just before its key ended cannot be verified',
    file: 'read-api/webhooks/keys-route.ts',
    text: ` - interval '\${shownAfterEnd}'`,
    replacement: '',
    caughtBy: [
      {
        file: 'test/read-api/webhooks/published-keys.int.test.ts',
        test: 'are the signing keys of every organisation, newest first; a replaced key stays for ten minutes',
      },
    ],
  },
]
