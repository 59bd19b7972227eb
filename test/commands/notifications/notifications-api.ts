import { randomUUID } from 'node:crypto'
import { v7 } from 'uuid'
import { isRefusal, type Decision } from '../../../engine/commands/decision.ts'
import { startAttempt } from '../../../commands/notifications/attempt-notification.ts'
import { recordOutcome, type AttemptOutcome } from '../../../commands/notifications/record-outcome.ts'
import { notifications, type NotificationState } from '../../../streams/notification/aggregate.ts'
import type { NotificationEvent } from '../../../streams/notification/events.ts'
import type { WriteAnswer } from '../../read-api/users/users-api.ts'
import { attempt, ending } from './notification-story.ts'
import { idOf, openSettingsApi, type Headers, type SettingsApi } from './settings-api.ts'

/** The API with templates of the clinic, and what the process does with a notification. */
export interface NotificationsApi extends SettingsApi {
  /** A client of the clinic with the scopes `notifications:send`, `:read` and `:admin`. */
  readonly client: Headers
  /** POST /v1/notifications. */
  send(body?: object, headers?: Headers): Promise<WriteAnswer>
  /** A pending notification; its id. */
  sent(body?: object): Promise<string>
  get(id: string, headers?: Headers): Promise<WriteAnswer>
  /** Begins an attempt. */
  start(id: string): Promise<void>
  /** Begins an attempt and ends it. */
  attempt(id: string, outcome: AttemptOutcome): Promise<void>
}

const scopes = ['notifications:send', 'notifications:read', 'notifications:admin']

export const address = 'canary.person@example.org'
/** Uses every template of the test. */
export const mail = {
  templateCode: 'ward-news',
  recipient: { type: 'email', ref: address },
  variables: { ward: 'canary-ward', patient: { name: 'canary-name' } },
}

export const permanent: AttemptOutcome = { kind: 'permanent', errorCode: 'provider_auth_failed', errorDetail: null }

export async function openNotificationsApi(): Promise<NotificationsApi> {
  const settings = await openSettingsApi()
  const { api, clinic } = settings
  const { world } = api
  const client = await api.token(clinic.orgId, scopes)
  const put = (code: string, body: object) =>
    settings.call('PUT', `/admin/templates/${code}`, settings.clinicAdmin, body)
  const shared = { category: 'operational', phi: false, bodyTemplate: '{{ward}} {{patient.name}}' }
  const ofMail = { ...shared, channel: 'email', subject: 'News' }
  await put('ward-news', { ...ofMail, locale: 'en-GB' })
  await put('ward-news', { ...ofMail, locale: 'de', bodyTemplate: '{{station}}' })
  await put('ward-news', { ...shared, channel: 'slack', locale: 'en-GB', phi: true })
  await put('odd-names', { ...ofMail, locale: 'en-GB', bodyTemplate: '{{[a/b~c].d}}' })
  await put('mail-only', { ...ofMail, locale: 'en-GB', bodyTemplate: '{{ward}} <a href="{{unsubscribeUrl}}">Stop</a>' })

  const decided = async (id: string, decide: (state: NotificationState) => Decision<NotificationEvent>) => {
    const { state } = await world.store.load(notifications.of(clinic.orgId, id))
    const decision = decide(state)
    if (isRefusal(decision)) throw new Error(`refused: ${id}`)
    await api.append(notifications.of(clinic.orgId, id), ...decision)
  }
  const start = async (id: string) => {
    const now = world.now()
    const command = { ...attempt, attemptId: v7(), now, leaseUntil: new Date(now.getTime() + 20_000) }
    await decided(id, (state) => startAttempt(command, state))
  }
  const send = (body: object = {}, headers = client) => settings.call('POST', '', headers, { ...mail, ...body })
  return {
    ...settings,
    client,
    send,
    sent: async (body) => idOf(await send(body)),
    get: (id, headers = client) => settings.call('GET', `/${id}`, headers),
    start,
    async attempt(id, outcome) {
      await start(id)
      await decided(id, (state) => {
        const attemptId = state.status === 'sending' ? state.open.attemptId : randomUUID()
        return recordOutcome({ ...ending, attemptId, outcome, now: world.now() }, state)
      })
    },
  }
}
