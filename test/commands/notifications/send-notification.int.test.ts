import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { notifications } from '../../../streams/notification/aggregate.ts'
import { patients } from '../../../streams/patient/aggregate.ts'
import { users } from '../../../streams/user/aggregate.ts'
import { patientFact } from '../../streams/facts.ts'
import { notificationFact } from '../../streams/notification-facts.ts'
import { userFact } from '../../streams/user-facts.ts'
import { refusalOf } from '../users/write-callers.ts'
import { address, mail, openNotificationsApi, permanent, type NotificationsApi } from './notifications-api.ts'
import { idOf, idsIn } from './settings-api.ts'

let n: NotificationsApi
beforeAll(async () => {
  n = await openNotificationsApi()
})
afterAll(() => n.close())

const stateOf = async (id: string) => (await n.api.world.otherStore.load(notifications.of(n.clinic.orgId, id))).state
const list = (query: string, headers = n.client) => n.call('GET', `?${query}`, headers)

describe('POST /v1/notifications: (none) → pending', () => {
  test('answers 202 with id and status, and GET shows a masked address and no variables', async () => {
    const answer = await n.send({ correlationId: 'order-7' })
    const id = idOf(answer)
    expect(answer).toMatchObject({
      status: 202,
      headers: { location: `/v1/notifications/${id}`, 'retry-after': '1' },
      body: { id, status: 'pending' },
    })
    const { status, etag, body } = await n.get(id)
    expect([status, etag]).toEqual([200, '"0"'])
    expect(body).toMatchObject({
      id,
      templateCode: 'ward-news',
      templateVersion: 1,
      channel: 'email',
      locale: 'en-GB',
      recipientRef: 'c***@example.org',
      orgId: n.clinic.orgId,
      status: 'pending',
      correlationId: 'order-7',
      triggerSource: expect.stringMatching(/^api:[\da-f-]{36}$/),
      deliveryAttempts: [],
    })
    expect(JSON.stringify(body)).not.toContain('canary')
    expect(await stateOf(id)).toMatchObject({
      recipientRef: address,
      variables: JSON.stringify(mail.variables),
      hop: 0,
    })
  })

  test('a repeated Idempotency-Key makes one notification, also with another spelling of the same body', async () => {
    const headers = { ...n.client, 'idempotency-key': randomUUID() }
    const first = await n.send({}, headers)
    const { variables, recipient, templateCode } = mail
    const again = await n.call('POST', '', headers, { variables, recipient, templateCode })
    expect([again.status, again.body, again.headers['idempotency-replayed']]).toEqual([202, first.body, 'true'])
    expect(refusalOf(await n.send({ correlationId: 'other' }, headers))).toBe('409 idempotency-key-reused')
  })

  test('a repeat gets its first answer, also after the template needs another variable', async () => {
    const { clinicAdmin, client } = n
    const put = (bodyTemplate: string) =>
      n.call('PUT', '/admin/templates/discharge', clinicAdmin, {
        channel: 'slack',
        category: 'operational',
        phi: false,
        bodyTemplate,
      })
    await put('{{ward}}')
    const body = { templateCode: 'discharge', recipient: { type: 'slackChannel', ref: 'C0123' } }
    const headers = { ...client, 'idempotency-key': randomUUID() }
    const first = await n.send(body, headers)
    await put('{{ward}} {{bed}}')
    const again = await n.send(body, headers)
    expect([again.status, again.body, again.headers['idempotency-replayed']]).toEqual([202, first.body, 'true'])
    expect(refusalOf(await n.send(body))).toBe('400 template-variable-missing /variables/bed')
    const other = { ...body, variables: { ...mail.variables, bed: '1' } }
    expect(refusalOf(await n.send(other, headers))).toBe('409 idempotency-key-reused')
  })

  test('a slackChannel gets a chat message, a user and an address get a mail', async () => {
    const channelOf = async (type: string, ref: string) =>
      (await n.get(await n.sent({ recipient: { type, ref } }))).body as { channel: string; recipientRef: string }
    expect(await channelOf('slackChannel', 'C0123')).toMatchObject({ channel: 'slack', recipientRef: 'C0123' })
    const { userId } = n.member
    expect(await channelOf('user', userId.toUpperCase())).toMatchObject({ channel: 'email', recipientRef: userId })
  })

  test('a PHI template for chat is accepted, because the worker refuses it', async () => {
    const id = await n.sent({ recipient: { type: 'slackChannel', ref: '#ward-7' } })
    expect((await n.get(id)).body).toMatchObject({ status: 'pending', phi: true })
  })

  test('the template has the locale of a user who is a member, else en-GB', async () => {
    const inGerman = userFact('UserChanged', { locale: 'de' }).data
    for (const { userId } of [n.member, n.foreigner])
      await n.api.append(users.of(userId), userFact('UserChanged', { ...inGerman, userId }))
    const to = (ref: string, variables: object) => n.send({ recipient: { type: 'user', ref }, variables })
    const answer = await to(n.member.userId, { station: '7' })
    expect((await n.get(idOf(answer))).body).toMatchObject({ locale: 'de', templateVersion: 1 })
    expect(refusalOf(await to(n.foreigner.userId, { station: '7' }))).toBe(
      '400 template-variable-missing /variables/ward',
    )
    expect(await to(randomUUID(), mail.variables)).toMatchObject({ status: 202 })
  })

  test('an unknown template, also for the channel of the recipient, is a 404', async () => {
    expect(refusalOf(await n.send({ templateCode: 'nothing' }))).toBe('404 template-not-found')
    const recipient = { type: 'slackChannel', ref: 'C0123' }
    expect(refusalOf(await n.send({ templateCode: 'mail-only', recipient }))).toBe('404 template-not-found')
  })

  test('missing variables are a 400 that lists their names', async () => {
    const answer = await n.send({ variables: { patient: {} } })
    expect(answer).toMatchObject({ status: 400, body: { missingVariables: ['ward', 'patient.name'] } })
    const pointers = (answer.body as { errors: { pointer: string }[] }).errors.map(({ pointer }) => pointer)
    expect(pointers).toEqual(['/variables/ward', '/variables/patient/name'])
    const odd = await n.send({ templateCode: 'odd-names', variables: {} })
    expect(refusalOf(odd)).toBe('400 template-variable-missing /variables/a~1b~0c/d')
  })

  test('the delivery adds the unsubscribe link for users, and for nobody else', async () => {
    const recipient = { type: 'user', ref: n.member.userId }
    const body = { templateCode: 'mail-only', variables: { ward: '7', station: '7' } }
    expect(await n.send({ ...body, recipient })).toMatchObject({ status: 202 })
    expect(await n.send(body)).toMatchObject({ status: 400, body: { missingVariables: ['unsubscribeUrl'] } })
  })

  test.each([
    ['user', 'canary'],
    ['email', 'canary'],
    ['email', 'canary@example.org, other@example.org'],
    ['email', 'canary@example.org\r\nbcc: other@example.org'],
    ['email', '"canary"@example.org'],
    ['email', 'canary@localhost'],
    ['slackChannel', 'canary channel'],
    ['slackChannel', '<!canary>'],
  ])('refuses %s %j without repeating it', async (type, ref) => {
    const answer = await n.send({ recipient: { type, ref } })
    expect(refusalOf(answer)).toBe('400 validation-failed /recipient/ref')
    expect(JSON.stringify(answer.body)).not.toContain('canary')
  })

  test.each([
    [{ correlationId: 'person@example.org' }, '/correlationId'],
    [{ recipient: { type: 'sms', ref: '1' } }, '/recipient/type'],
    [{ variables: { ward: 'x'.repeat(70_000) } }, '/variables'],
    [{ channel: 'email' }, '/channel'],
  ])('refuses %o', async (body, pointer) => {
    expect(refusalOf(await n.send(body))).toBe(`400 validation-failed ${pointer}`)
  })

  test('needs the scope, and an organisation', async () => {
    expect(await n.send({}, await n.api.token(n.clinic.orgId, ['notifications:read']))).toMatchObject({ status: 403 })
    const platform = await n.api.token(null, ['notifications:send'])
    expect(refusalOf(await n.send({}, platform))).toBe('400 org-required')
    expect(await n.send({ organisationId: n.clinic.orgId }, platform)).toMatchObject({ status: 202 })
    expect(refusalOf(await n.send({ organisationId: n.hospital.orgId }))).toBe('404 not-found')
  })

  const register = (patientId: string) =>
    n.api.append(
      patients.of(n.clinic.orgId, patientId),
      patientFact('PatientRegistered', { patientId, organisationId: n.clinic.orgId }),
    )

  test('variables about a patient are PHI, whatever the template says', async () => {
    const patientId = randomUUID()
    await register(patientId)
    expect((await n.get(await n.sent({ patientId }))).body).toMatchObject({ phi: true })
    expect((await n.get(await n.sent())).body).toMatchObject({ phi: false })
  })

  test('variables about a patient are erased with the patient', async () => {
    const patientId = randomUUID()
    expect(refusalOf(await n.send({ patientId }))).toBe('404 patient-not-found /patientId')
    await register(patientId)
    const id = await n.sent({ patientId })
    await n.api.world.vault.destroySubject(n.clinic.orgId, patientId)
    expect(await stateOf(id)).toMatchObject({ status: 'pending', variables: null, recipientRef: null })
  })
})

describe('GET /v1/notifications/{id}', () => {
  test('shows the delivery attempts in order, redacted', async () => {
    const id = await n.sent()
    const busy = { errorCode: 'provider_5xx', errorDetail: 'the server answered 451' } as const
    await n.attempt(id, { kind: 'transient', retryAfterMs: 0, ...busy })
    n.api.world.pass(2)
    await n.attempt(id, { kind: 'sent', providerMessageId: 'message-1' })
    const { body } = await n.get(id)
    const made = { notificationId: id, providerName: 'smtp', request: { attachments: 0 }, latencyMs: 40 }
    expect(body).toMatchObject({
      status: 'sent',
      attempts: 2,
      resolvedAddress: 'c***@example.org',
      providerMessageId: 'message-1',
      errorCode: null,
      deliveryAttempts: [
        { ...made, attemptNumber: 1, success: false, errorCode: 'provider_5xx', response: { status: 250 } },
        { ...made, attemptNumber: 2, success: true, errorCode: null, response: { status: 250 } },
      ],
    })
    expect(JSON.stringify(body)).not.toContain('canary')
  })

  test('shows the newest hundred of many attempts', async () => {
    const id = await n.sent()
    const made = Array.from({ length: 101 }, (_, index) => ({ attemptId: randomUUID(), attempt: index + 1 }))
    const facts = made.flatMap(({ attemptId, attempt }) => [
      notificationFact('NotificationAttemptStarted', { notificationId: id, attemptId, attempt }),
      notificationFact('NotificationRetryScheduled', {
        notificationId: id,
        ended: { attemptId, attempt, response: null, latencyMs: 40 },
      }),
    ])
    await n.api.append(notifications.of(n.clinic.orgId, id), ...facts)
    const { attempts, deliveryAttempts } = (await n.get(id)).body as { attempts: number; deliveryAttempts: object[] }
    expect(attempts).toBe(101)
    expect(deliveryAttempts).toMatchObject(made.slice(1).map(({ attempt }) => ({ attemptNumber: attempt })))
  })

  test('needs the scope, and is a 404 for another organisation', async () => {
    const id = await n.sent()
    expect(await n.get(id, await n.api.token(n.clinic.orgId, ['notifications:send']))).toMatchObject({ status: 403 })
    const other = await n.api.token(n.hospital.orgId, ['notifications:read'])
    expect(refusalOf(await n.get(id, other))).toBe('404 not-found')
    expect(refusalOf(await n.get(randomUUID()))).toBe('404 not-found')
    expect(refusalOf(await n.get('nothing'))).toBe('404 not-found')
  })
})

describe('the states of a notification', () => {
  const statusAfter = async (...outcomes: Parameters<NotificationsApi['attempt']>[1][]) => {
    const id = await n.sent()
    for (const outcome of outcomes) {
      await n.attempt(id, outcome)
      n.api.world.pass(60)
    }
    return (await n.get(id)).body
  }
  const busy = { kind: 'transient', errorCode: 'provider_5xx', errorDetail: null, retryAfterMs: 0 } as const

  test('pending → sending: the attempts count', async () => {
    const id = await n.sent()
    await n.start(id)
    expect((await n.get(id)).body).toMatchObject({ status: 'sending', attempts: 1, deliveryAttempts: [] })
    await n.start(id)
    expect((await n.get(id)).body).toMatchObject({ status: 'sending', attempts: 1 })
  })

  test('sending → suppressed: opt-out or suppression list', async () => {
    for (const reason of ['preference_opt_out', 'suppression_list'] as const)
      expect(await statusAfter({ kind: 'suppressed', reason })).toMatchObject({
        status: 'suppressed',
        suppressionReason: reason,
        errorCode: null,
      })
  })

  test('sending → failed: PHI policy and other permanent failures, without a retry', async () => {
    for (const errorCode of ['phi_policy_violation', 'invalid_recipient'] as const)
      expect(await statusAfter({ kind: 'permanent', errorCode, errorDetail: null }, busy)).toMatchObject({
        status: 'failed',
        errorCode,
        attempts: 1,
        nextAttemptAt: null,
      })
  })

  test('sending → sent: with the id and the instant of the provider', async () => {
    expect(await statusAfter({ kind: 'sent', providerMessageId: 'm' }, permanent)).toMatchObject({
      status: 'sent',
      providerMessageId: 'm',
      sentAt: expect.any(String),
      attempts: 1,
    })
  })

  test('sending → queued: a transient failure while attempts remain; then failed', async () => {
    expect(await statusAfter(busy)).toMatchObject({ status: 'queued', nextAttemptAt: expect.any(String) })
    expect(await statusAfter(busy, busy, busy, busy, busy)).toMatchObject({ status: 'failed', attempts: 5 })
  })
})

describe('GET /v1/notifications', () => {
  test('finds a recipient by the full address, in any case, and never repeats it in Link', async () => {
    const recipient = { type: 'email', ref: 'Canary.Listed@example.org' }
    const made = [await n.sent({ recipient }), await n.sent({ recipient })].toReversed()
    const query = 'recipientRef=canary.listed%40EXAMPLE.org'
    const page = await list(`${query}&limit=1`)
    expect(idsIn(page)).toEqual(made.slice(0, 1))
    expect(page.body).toMatchObject({ hasMore: true })
    const { link } = page.headers
    expect(String(link)).toMatch(/^<\/v1\/notifications\?limit=1&cursor=[^>]+>; rel="next"$/)
    const { nextCursor } = page.body as { nextCursor: string }
    expect(idsIn(await list(`${query}&limit=1&cursor=${nextCursor}`))).toEqual(made.slice(1))
    expect(refusalOf(await list(`limit=1&cursor=${nextCursor}`))).toBe('400 invalid-cursor')
    expect(JSON.stringify([page.body, page.headers])).not.toMatch(/canary/i)
  })

  test('finds a chat channel with and without #, in any case', async () => {
    const id = await n.sent({ recipient: { type: 'slackChannel', ref: '#Ward-Nine' } })
    for (const ref of ['ward-nine', '%23ward-nine', '%23Ward-Nine'])
      expect(idsIn(await list(`recipientRef=${ref}`))).toEqual([id])
  })

  test('filters by user, status and creation, newest first', async () => {
    const recipient = { type: 'user', ref: n.member.userId }
    const variables = { ...mail.variables, station: '7' }
    n.api.world.pass(1)
    const from = n.api.world.now().toISOString()
    const first = await n.sent({ recipient, variables })
    n.api.world.pass(1)
    const to = n.api.world.now().toISOString()
    const second = await n.sent({ recipient, variables })
    await n.attempt(second, permanent)
    expect(idsIn(await list(`recipientRef=${n.member.userId}&from=${from}`))).toEqual([second, first])
    expect(idsIn(await list(`from=${from}&to=${to}`))).toEqual([first])
    expect(idsIn(await list(`from=${from}&status=failed`))).toEqual([second])
    expect(refusalOf(await list('status=lost'))).toBe('400 validation-failed /status')
  })

  test('contains the own organisation only', async () => {
    const id = await n.sent()
    const other = await n.api.token(n.hospital.orgId, ['notifications:read'])
    expect(idsIn(await list('', other))).toEqual([])
    expect(idsIn(await list(`orgId=${n.clinic.orgId}`))).toContain(id)
    expect(refusalOf(await list(`orgId=${n.hospital.orgId}`))).toBe('404 not-found')
  })
})
