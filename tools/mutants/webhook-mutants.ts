import type { Mutant } from './mutant.ts'

const deliverStep = 'test/processes/webhooks/deliver-step.int.test.ts'
const changed = 'test/processes/webhooks/changed-subscription.int.test.ts'
const list = 'test/processes/webhooks/webhooks-list.int.test.ts'
const signatures = 'test/processes/adapters/webhook-signatures.unit.test.ts'

export const webhookMutants: readonly Mutant[] = [
  {
    name: 'attempt-before-it-is-due',
    fault: 'a worker with a stale list calls an endpoint again directly after a failure',
    file: 'commands/webhooks/deliver-webhook.ts',
    text: 'dueAt.getTime() > now.getTime() ? dueAt : null',
    replacement: 'null',
    caughtBy: [
      {
        file: 'test/commands/webhooks/webhook-decisions.unit.test.ts',
        test: 'begins none before it is due, also with a list that is behind',
      },
    ],
  },
  {
    name: 'signs-with-one-secret',
    fault: 'a receiver that still uses the previous secret cannot verify deliveries',
    file: 'processes/adapters/webhook-signatures.ts',
    text: 'signing.filter(({ secret }) => valid.has(secret))',
    replacement: 'signing.slice(0, 1)',
    caughtBy: [{ file: signatures, test: 'are made with the current secret and with those before it until they end' }],
  },
  {
    name: 'ended-secret-signs',
    fault: 'an ended secret still signs',
    file: 'processes/adapters/webhook-signatures.ts',
    text: 'liveSecrets({ secrets }, content.sentAt)',
    replacement: 'liveSecrets({ secrets }, now)',
    caughtBy: [{ file: signatures, test: 'are made with the current secret and with those before it until they end' }],
  },
  {
    name: 'secret-made-up',
    fault: 'a secret that the vault has lost is replaced by one that no receiver has',
    file: 'processes/adapters/webhook-signatures.ts',
    text: `vault.storedSecret('webhook', secret.secretId)`,
    replacement: `vault.secret('webhook', secret.secretId)`,
    caughtBy: [{ file: changed, test: 'sends nothing, and begins nothing, with a secret that the vault has lost' }],
  },
  {
    name: 'stale-subscription',
    fault: 'a change of a subscription by another process is never noticed',
    file: 'processes/webhooks/subscription-reader.ts',
    text: '.load(webhookSubscriptions.at(stream))',
    replacement: '.loadCached(webhookSubscriptions.at(stream))',
    caughtBy: [
      { file: changed, test: 'is sent to at its new address, by the next attempt already' },
      { file: changed, test: 'signs with its new secret at once, and with the one before it until that ends' },
    ],
  },
  {
    name: 'earlier-read-answers',
    fault: 'a read that began before a request answers the request',
    file: 'processes/webhooks/subscription-reader.ts',
    text: 'current === undefined ? begin(stream) : (next.get(stream) ?? after(current, stream))',
    replacement: 'current ?? begin(stream)',
    caughtBy: [
      {
        file: 'test/processes/webhooks/subscription-reader.unit.test.ts',
        test: 'answers with what was there when it was asked, or later',
      },
    ],
  },
  {
    name: 'gone-is-retried',
    fault: 'a receiver that answered 410 is called again',
    file: 'processes/webhooks/deliver.steps.ts',
    text: 'isTest || statusCode === 410',
    replacement: 'isTest',
    caughtBy: [{ file: deliverStep, test: 'is the last one when the receiver says that it is gone' }],
  },
  {
    name: 'patch-stops-list',
    fault: 'a subscription that is disabled during an attempt stops the deliveries of all',
    file: 'processes/webhooks/webhooks.process.ts',
    text: `todo.moveWhere('deliver', { key: keyOf(delivery) }, nextAttemptAt)`,
    replacement: `todo.move('deliver', keyOf(delivery), nextAttemptAt)`,
    caughtBy: [{ file: list, test: 'may be told of an attempt that failed meanwhile, which makes nothing due' }],
  },
  {
    name: 'late-failure-counts',
    fault: 'a failure at a replaced address disables the new address',
    file: 'processes/webhooks/endpoint-rows.ts',
    text: `return { subscriptionId, endpointRevision, status: 'active' }`,
    replacement: `return { subscriptionId, status: 'active' }`,
    caughtBy: [{ file: list, test: 'and does not answer for what was under way then' }],
  },
  {
    name: 'warned-for-ever',
    fault: 'an endpoint gets only one warning in its life',
    file: 'commands/webhooks/review-endpoint.ts',
    text: 'warned?.failingSince === failingSince ? warned : null',
    replacement: 'warned',
    caughtBy: [
      {
        file: 'test/commands/webhooks/endpoint-decisions.unit.test.ts',
        test: 'does not count the warnings of an earlier series of failures',
      },
    ],
  },
  {
    name: 'outage-of-ours-counts',
    fault: 'an endpoint is disabled for a time in which the platform could not call it',
    file: 'commands/webhooks/review-endpoint.ts',
    text: 'lateMs > Math.max(mostLate.ms,',
    replacement: 'lateMs > Math.max(Infinity,',
    caughtBy: [
      {
        file: 'test/commands/webhooks/endpoint-decisions.unit.test.ts',
        test: 'begins the last tenth again if the last review is late',
      },
    ],
  },
  {
    name: 'cancelled-attempt-open',
    fault: 'an attempt that failed while its delivery was cancelled never ends in the log',
    file: 'commands/webhooks/deliver-webhook.ts',
    text: `if (state.status !== 'pending' && state.status !== 'cancelled') return []`,
    replacement: `if (state.status !== 'pending' && outcome.kind !== 'delivered') return []`,
    caughtBy: [
      {
        file: 'test/commands/webhooks/endpoint-decisions.unit.test.ts',
        test: 'records the attempt that was under way, with any outcome',
      },
    ],
  },
  {
    name: 'key-of-pending-forgotten',
    fault: 'a key that requested a pending delivery sends it again one round later',
    file: 'commands/webhooks/redeliver.ts',
    text: 'const isRemembered = request !== null || recoveryId !== null',
    replacement: 'const isRemembered = recoveryId !== null',
    caughtBy: [
      {
        file: 'test/commands/webhooks/delivery-decisions.unit.test.ts',
        test: 'begins no round of a pending delivery, and records the key',
      },
    ],
  },
  {
    name: 'asked-for-and-cancelled',
    fault: 'a repeated request after re-enabling is cancelled because of the earlier disabling, and its key is used up',
    file: 'commands/webhooks/cancel-delivery.ts',
    text: 'if (!isSince(askedOf, disabledRevision)) return [cancelled]',
    replacement: 'if (disabledRevision !== -1) return [cancelled]',
    caughtBy: [
      {
        file: 'test/commands/webhooks/endpoint-decisions.unit.test.ts',
        test: 'begins another round if any request came after the disabling',
      },
      {
        file: 'test/processes/webhooks/changed-subscription.int.test.ts',
        test: 'has what was pending then, and asked for again ',
      },
    ],
  },
  {
    name: 'recovers-what-was-delivered',
    fault: 'a recovery sends deliveries again that succeeded meanwhile',
    file: 'commands/webhooks/redeliver.ts',
    text: `(recoveryId !== null && state.status === 'delivered')`,
    replacement: `(recoveryId !== null && state.status === 'pending')`,
    caughtBy: [
      {
        file: 'test/commands/webhooks/delivery-decisions.unit.test.ts',
        test: 'for a recovery begins no round of a delivery that succeeded meanwhile, and records this once',
      },
    ],
  },
]
