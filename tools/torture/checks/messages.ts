import { at } from '../../../app/demo/members.ts'
import { placeOf, text, type Checked, type Fact, type Finding } from '../facts.ts'
import type { Part } from '../schedule.ts'
import { Notifications, type Attempt, type FollowedNotification } from './notifications.ts'

/** A mail or a chat message as its receiver has it. */
export interface ReceivedMessage {
  /** From the Message-ID or `client_msg_id`: the id of its notification. */
  readonly notificationId: string
  /** Milliseconds since 1970. For a chat message the beginning of its second. */
  readonly receivedAt: number
}

/** The time in which a part was killed and not up again, in milliseconds since 1970. */
export interface Outage {
  readonly part: Part
  readonly from: number
  readonly to: number
}

/** The other parts neither call a provider nor keep the record of a call. */
const ofCalls: readonly Part[] = ['processor-1', 'processor-2', 'node']
/** Categories whose messages may arrive twice. It is the default of the setting. */
const atLeastOnce = ['transactional']

const isUnknown = ({ ended }: Attempt) => ended !== undefined && text(ended, 'errorCode') === 'delivery_unknown'

/**
 * Each message belongs to one notification. A sent notification has one message, one that failed or was suppressed has
 * none. Only an attempt with an unknown outcome may have added one. No message came after the end.
 */
export function checkMessages(log: readonly Fact[], received: readonly ReceivedMessage[]): Checked {
  const { all } = new Notifications(log)
  const byNotification = Map.groupBy(received, ({ notificationId }) => notificationId)
  const findings: Finding[] = [...byNotification.keys()].flatMap((where) =>
    all.has(where) ? [] : [{ what: 'a message without a notification', where }],
  )
  for (const [id, one] of all) findings.push(...misdelivered(one, byNotification.get(id) ?? []))
  return { check: 'messages as their notifications record them', examined: received.length, findings }
}

function misdelivered(
  { created, end, attempts }: FollowedNotification,
  messages: readonly ReceivedMessage[],
): readonly Finding[] {
  const where = placeOf(end ?? created)
  const sent = end?.type === 'NotificationSent' ? 1 : 0
  const most = sent + attempts.filter(isUnknown).length
  const endedAt = Date.parse(end === undefined ? '' : endOf(end))
  return [
    ...(messages.length < sent ? [{ what: 'recorded as sent, but no message arrived', where }] : []),
    ...(messages.length > most
      ? [{ what: `${messages.length} messages where the record permits ${most}`, where }]
      : []),
    ...messages
      .filter(({ receivedAt }) => receivedAt > endedAt)
      .map(() => ({ what: 'a message after the end of its notification', where })),
  ]
}

function endOf(end: Fact): string {
  return text(end, 'sentAt') || text(end, 'failedAt') || text(end, 'suppressedAt')
}

/** An outcome is unknown only where a kill fell into the call. Then only some categories are sent again. */
export function checkUnknown(log: readonly Fact[], outages: readonly Outage[]): Checked {
  const { all } = new Notifications(log)
  const attempts = [...all.values()].flatMap((one) => one.attempts)
  const findings = attempts.filter(isUnknown).flatMap(({ begun, ended }): Finding[] => {
    const [from, to] = [Date.parse(text(begun, 'startedAt')), Date.parse(text(begun, 'leaseUntil'))]
    const isStruck = outages.some((one) => ofCalls.includes(one.part) && one.from <= to && one.to >= from)
    const where = placeOf(ended ?? begun)
    const categories = at(begun.data, 'categories')
    const mayBeDoubled = Array.isArray(categories) && categories.every((one) => atLeastOnce.includes(String(one)))
    return [
      ...(isStruck ? [] : [{ what: 'an unknown outcome without a kill', where }]),
      ...(ended?.type === 'NotificationRetryScheduled' && !mayBeDoubled
        ? [{ what: 'sent again although it may have arrived', where }]
        : []),
    ]
  })
  const unknown = attempts.filter(isUnknown).length
  return { check: `unknown outcomes only at kills (${unknown})`, examined: attempts.length, findings }
}

/** The messages of both receivers. */
export async function receivedMessages({
  mailboxUrl,
  chatUrl,
}: {
  readonly mailboxUrl: string
  readonly chatUrl: string
}): Promise<readonly ReceivedMessage[]> {
  const listOf = async (url: string): Promise<readonly unknown[]> => {
    const list: unknown = await (await fetch(url)).json()
    if (!Array.isArray(list)) throw new Error('a receiver answered without a list')
    return list
  }
  const [mails, chats] = await Promise.all([listOf(`${mailboxUrl}/email`), listOf(`${chatUrl}/messages`)])
  return [
    ...mails.map((mail) => ({
      notificationId:
        /^<([^@>]+)@/.exec(String(at(mail, 'headers', 'message-id')))?.[1] ?? 'a mail without a Message-ID',
      receivedAt: Date.parse(String(at(mail, 'received_at'))),
    })),
    ...chats.map((chat) => ({
      notificationId: String(at(chat, 'client_msg_id')),
      receivedAt: Math.floor(Number(at(chat, 'ts'))) * 1_000,
    })),
  ]
}
