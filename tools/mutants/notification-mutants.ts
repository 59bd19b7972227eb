import type { Mutant } from './mutant.ts'

const deliverStep = 'test/processes/notifications/deliver-step.int.test.ts'
const createStep = 'test/processes/notifications/create-step.int.test.ts'
const outcomes = 'test/commands/notifications/record-outcome.unit.test.ts'
const mailSender = 'test/processes/adapters/mail-sender.int.test.ts'
const chatSender = 'test/processes/adapters/chat-sender.int.test.ts'
const plan = 'processes/notifications/delivery-plan.ts'

export const notificationMutants: readonly Mutant[] = [
  {
    name: 'opt-out-of-old-category',
    fault: 'an opt-out of the category that the template has now is ignored',
    file: plan,
    at: 'planDelivery / if 6 / .test',
    becomes: 'false',
    caughtBy: { [deliverStep]: 'counts the category that the template has now, too' },
  },
  {
    name: 'phi-on-chat',
    fault: 'personal health information is sent to a chat channel',
    file: plan,
    at: 'planDelivery / if 5 / .test',
    becomes: 'false',
    caughtBy: { [deliverStep]: 'refuses a template with PHI on chat' },
  },
  {
    name: 'unknown-sent-again',
    fault: 'a message that may have arrived is sent again if one of its categories permits it',
    file: 'commands/notifications/record-outcome.ts',
    at: 'mayBeDoubled / every()',
    becomes: '$callee.object.some($arguments.0)',
    caughtBy: { [outcomes]: 'fails if only some of its categories are at-least-once' },
  },
  {
    name: 'notified-about-itself',
    fault: 'notifications about notifications go on for ever',
    file: 'processes/notifications/create.steps.ts',
    at: 'admitted / if 2 / .test',
    becomes: 'false',
    caughtBy: { [createStep]: 'of an event that notifications of notifications caused' },
  },
  {
    name: 'id-in-two-organisations',
    fault: 'the notifications of two organisations about one event have the same id',
    file: 'processes/notifications/matches.ts',
    at: 'notificationIdOf / v5() / .arguments.0',
    becomes: '$expressions.0',
    caughtBy: { [createStep]: 'makes one notification of a platform rule for each' },
  },
  {
    name: 'header-in-a-mail',
    fault: 'a mail takes any header, and so a second recipient',
    file: 'processes/adapters/mail-sender.ts',
    at: 'refusalOf / ?',
    becomes: '$consequent',
    caughtBy: { [mailSender]: 'is refused before a connection is opened' },
  },
  {
    name: 'chat-message-without-id',
    fault: 'a chat message has another id with each try',
    file: 'processes/adapters/chat-sender.ts',
    at: 'client_msg_id / .value',
    becomes: 'crypto.randomUUID()',
    caughtBy: { [chatSender]: 'a message is posted once, with the notification as its id' },
  },
]
