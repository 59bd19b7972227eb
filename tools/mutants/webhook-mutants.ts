import type { Mutant } from './mutant.ts'

const signatures = 'test/processes/adapters/webhook-signatures.unit.test.ts'
const changed = 'test/processes/webhooks/changed-subscription.int.test.ts'
const list = 'test/processes/webhooks/webhooks-list.unit.test.ts'
const endpointDecisions = 'test/commands/webhooks/endpoint-decisions.unit.test.ts'
const deliveryDecisions = 'test/commands/webhooks/delivery-decisions.unit.test.ts'

export const webhookMutants: readonly Mutant[] = [
  {
    name: 'attempt-before-it-is-due',
    fault: 'a worker with a stale list calls an endpoint again directly after a failure',
    file: 'commands/webhooks/deliver-webhook.ts',
    at: 'waitsUntil / >',
    becomes: 'false',
    caughtBy: {
      'test/commands/webhooks/webhook-decisions.unit.test.ts':
        'begins none before it is due, also with a list that is behind',
    },
  },
  {
    name: 'signs-with-one-secret',
    fault: 'a receiver that still uses the previous secret cannot verify deliveries',
    file: 'processes/adapters/webhook-signatures.ts',
    at: 'createWebhookSignatures / signerOf / filter()',
    becomes: '$callee.object.slice(0, 1)',
    caughtBy: { [signatures]: 'are made with the current secret and with those before it until they end' },
  },
  {
    name: 'ended-secret-signs',
    fault: 'an ended secret still signs',
    file: 'processes/adapters/webhook-signatures.ts',
    at: 'createWebhookSignatures / liveSecrets() 2 / .arguments.1',
    becomes: 'new Date(0)',
    caughtBy: { [signatures]: 'are made with the current secret and with those before it until they end' },
  },
  {
    name: 'secret-made-up',
    fault: 'a secret that the vault has lost is replaced by one that no receiver has',
    file: 'processes/adapters/webhook-signatures.ts',
    at: 'signingOf / storedSecret()',
    becomes: '$callee.object.secret($arguments.0, $arguments.1)',
    caughtBy: { [changed]: 'opens no attempt and sends nothing without the secret that the vault has lost' },
  },
  {
    name: 'stale-subscription',
    fault: 'a change of a subscription by another process is never noticed',
    file: 'processes/webhooks/subscription-reader.ts',
    at: 'readSubscription / load()',
    becomes: '$callee.object.loadCached($arguments.0)',
    caughtBy: {
      [changed]: [
        'receives the next attempt at its new address',
        'has signatures of its new secret at once, and of the previous one until that ends',
      ],
    },
  },
  {
    name: 'gone-is-retried',
    fault: 'a receiver that answered 410 is called again',
    file: 'processes/webhooks/deliver.steps.ts',
    at: 'outcomeOf / ||',
    becomes: '$left',
    caughtBy: {
      'test/processes/webhooks/deliver-step.int.test.ts': 'is the last one when the receiver answers 410',
    },
  },
  {
    name: 'schedule-shifted',
    fault: 'a delay of the retry schedule is skipped',
    file: 'processes/webhooks/deliver.steps.ts',
    at: 'outcomeOf / ? 1 / .alternate',
    becomes: '$object[$property + 1]',
    caughtBy: {
      'test/processes/webhooks/deliver-step.int.test.ts': 'is due again after the next delay of the schedule',
    },
  },
  {
    name: 'patch-stops-list',
    fault: 'a subscription that is disabled during an attempt stops the deliveries of all',
    file: 'processes/webhooks/webhooks.process.ts',
    at: 'dueAgain / moveWhere()',
    becomes: '$callee.object.move($arguments.0, $arguments.1.properties.0.value, $arguments.2)',
    caughtBy: { [list]: 'has nothing due for an attempt that failed in the meantime' },
  },
  {
    name: 'late-failure-counts',
    fault: 'a failure at a replaced address disables the new address',
    file: 'processes/webhooks/endpoint-rows.ts',
    at: 'activeEndpoint / return',
    becomes: 'return { $argument.properties.0, $argument.properties.2 }',
    caughtBy: { [list]: 'nor for attempts that ran at that time' },
  },
  {
    name: 'warned-for-ever',
    fault: 'an endpoint gets only one warning in its life',
    file: 'commands/webhooks/review-endpoint.ts',
    at: 'warnedOf / ?',
    becomes: '$consequent',
    caughtBy: { [endpointDecisions]: 'does not count the warnings of an earlier series of failures' },
  },
  {
    name: 'outage-of-ours-counts',
    fault: 'an endpoint is disabled for a time in which the platform could not call it',
    file: 'commands/webhooks/review-endpoint.ts',
    at: 'reviewEndpoint / >',
    becomes: 'false',
    caughtBy: { [endpointDecisions]: 'begins the last tenth again if the last review is late' },
  },
  {
    name: 'cancelled-attempt-open',
    fault: 'an attempt that failed while its delivery was cancelled never ends in the log',
    file: 'commands/webhooks/deliver-webhook.ts',
    at: 'recordDelivery / || 2 / .left',
    becomes: "state.status !== 'pending'",
    caughtBy: { [endpointDecisions]: 'records the attempt that was under way, with any outcome' },
  },
  {
    name: 'key-of-pending-forgotten',
    fault: 'a key that requested a pending delivery sends it again one round later',
    file: 'commands/webhooks/redeliver.ts',
    at: 'redeliver / || 3',
    becomes: '$left.right || $right',
    caughtBy: { [deliveryDecisions]: 'begins no round of a pending delivery, and records the key' },
  },
  {
    name: 'asked-for-and-cancelled',
    fault: 'a repeated request after re-enabling is cancelled because of the earlier disabling, and its key is used up',
    file: 'commands/webhooks/cancel-delivery.ts',
    at: 'cancelDelivery / isSince() 2',
    becomes: 'false',
    caughtBy: {
      [endpointDecisions]: 'begins another round if any request came after the disabling',
      [changed]: 'has a pending delivery that was requested again ',
    },
  },
  {
    name: 'recovers-what-was-delivered',
    fault: 'a recovery sends deliveries again that succeeded meanwhile',
    file: 'commands/webhooks/redeliver.ts',
    at: 'redeliver / && 3',
    becomes: 'false',
    caughtBy: {
      [deliveryDecisions]:
        'for a recovery begins no round of a delivery that succeeded meanwhile, and records this once',
    },
  },
]
