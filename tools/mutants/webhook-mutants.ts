import type { Mutant } from './mutant.ts'

const deliverStep = 'test/processes/webhooks/deliver-step.int.test.ts'
const changed = 'test/processes/webhooks/changed-subscription.int.test.ts'
const list = 'test/processes/webhooks/webhooks-list.int.test.ts'
const signatures = 'test/processes/adapters/webhook-signatures.unit.test.ts'

export const webhookMutants: readonly Mutant[] = [
  {
    name: 'attempt-before-it-is-due',
    fault: 'a worker whose list is behind calls an endpoint again right after a failure',
    file: 'commands/webhooks/deliver-webhook.ts',
    text: 'dueAt.getTime() > now.getTime() ? dueAt : null',
    replacement: 'null',
    caughtBy: [
      {
        file: 'test/commands/webhooks/webhook-decisions.unit.test.ts',
        test: 'begins none before it is due, whatever the list of a worker says',
      },
    ],
  },
  {
    name: 'signs-with-one-secret',
    fault: 'a receiver that has not taken over a rotated secret yet can verify nothing',
    file: 'processes/adapters/webhook-signatures.ts',
    text: 'signing.filter(({ secret }) => valid.has(secret))',
    replacement: 'signing.slice(0, 1)',
    caughtBy: [{ file: signatures, test: 'are made with the current secret and with those before it until they end' }],
  },
  {
    name: 'ended-secret-signs',
    fault: 'a secret goes on signing after its end',
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
    fault: 'what another process has changed of a subscription is never seen',
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
    fault: 'a read that began before a question answers it',
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
    fault: 'a receiver that said that it is gone is called again',
    file: 'processes/webhooks/deliver.steps.ts',
    text: 'isTest || statusCode === 410',
    replacement: 'isTest',
    caughtBy: [{ file: deliverStep, test: 'is the last one when the receiver says that it is gone' }],
  },
  {
    name: 'patch-stops-list',
    fault: 'a subscription that is disabled during an attempt stops the deliveries of everybody',
    file: 'processes/webhooks/webhooks.process.ts',
    text: `todo.moveWhere('deliver', { key: keyOf(delivery) }, nextAttemptAt)`,
    replacement: `todo.move('deliver', keyOf(delivery), nextAttemptAt)`,
    caughtBy: [{ file: list, test: 'may be told of an attempt that failed meanwhile, which makes nothing due' }],
  },
  {
    name: 'late-failure-counts',
    fault: 'what failed at an address that was given up has the new one disabled',
    file: 'processes/webhooks/endpoint-rows.ts',
    text: `return { subscriptionId, endpointRevision, status: 'active' }`,
    replacement: `return { subscriptionId, status: 'active' }`,
    caughtBy: [{ file: list, test: 'and does not answer for what was under way then' }],
  },
  {
    name: 'warned-for-ever',
    fault: 'an endpoint that has been warned of once is never warned of again',
    file: 'commands/webhooks/review-endpoint.ts',
    text: 'warned?.failingSince === failingSince ? warned : null',
    replacement: 'warned',
    caughtBy: [
      {
        file: 'test/commands/webhooks/endpoint-decisions.unit.test.ts',
        test: 'does not count the warnings of an earlier row of failures',
      },
    ],
  },
  {
    name: 'outage-of-ours-counts',
    fault: 'an endpoint is disabled for a time in which nobody could have called it',
    file: 'commands/webhooks/review-endpoint.ts',
    text: 'lateMs > Math.max(mostLate.ms,',
    replacement: 'lateMs > Math.max(Infinity,',
    caughtBy: [
      {
        file: 'test/commands/webhooks/endpoint-decisions.unit.test.ts',
        test: 'gives the last part of its time anew where nobody looked at its end',
      },
    ],
  },
  {
    name: 'cancelled-attempt-open',
    fault: 'an attempt that failed while its delivery was cancelled is never over in the log',
    file: 'commands/webhooks/deliver-webhook.ts',
    text: `if (state.status !== 'pending' && state.status !== 'cancelled') return []`,
    replacement: `if (state.status !== 'pending' && outcome.kind !== 'delivered') return []`,
    caughtBy: [
      {
        file: 'test/commands/webhooks/endpoint-decisions.unit.test.ts',
        test: 'has the attempt that was under way recorded, whatever it came to',
      },
    ],
  },
  {
    name: 'key-of-pending-forgotten',
    fault: 'a key that asked for a delivery that was pending has it sent again a round later',
    file: 'commands/webhooks/redeliver.ts',
    text: 'const isRemembered = request !== null || recoveryId !== null',
    replacement: 'const isRemembered = recoveryId !== null',
    caughtBy: [
      {
        file: 'test/commands/webhooks/delivery-decisions.unit.test.ts',
        test: 'begins nothing of what is pending, and remembers the key that asked',
      },
    ],
  },
  {
    name: 'asked-for-and-cancelled',
    fault:
      'what was asked for again since its subscription was enabled is cancelled for the disabling before that, and its key used up',
    file: 'commands/webhooks/cancel-delivery.ts',
    text: 'if (!isSince(askedOf, disabledRevision)) return [cancelled]',
    replacement: 'if (disabledRevision !== -1) return [cancelled]',
    caughtBy: [
      {
        file: 'test/commands/webhooks/endpoint-decisions.unit.test.ts',
        test: 'has another round begin where it was asked for since the subscription was disabled, by whomever',
      },
      {
        file: 'test/processes/webhooks/changed-subscription.int.test.ts',
        test: 'has what was pending then, and asked for again ',
      },
    ],
  },
  {
    name: 'recovers-what-was-delivered',
    fault: 'a recovery sends again what was delivered meanwhile',
    file: 'commands/webhooks/redeliver.ts',
    text: `(recoveryId !== null && state.status === 'delivered')`,
    replacement: `(recoveryId !== null && state.status === 'pending')`,
    caughtBy: [
      {
        file: 'test/commands/webhooks/delivery-decisions.unit.test.ts',
        test: 'for a recovery begins nothing of what was delivered meanwhile, and says so once',
      },
    ],
  },
]
