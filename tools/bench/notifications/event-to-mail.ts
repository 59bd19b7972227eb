import { randomBytes } from 'node:crypto'
import { textAt } from '../../../app/demo/members.ts'
import { requestToken } from '../../../test/support/raw-api.ts'
import { expecting } from '../../../test/support/main-job.ts'
import { serviceClientOf } from '../../../app/credentials.ts'
import { users } from '../../../streams/user/aggregate.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atMost } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { startDriver } from '../load/start-driver.ts'
import { storedEvents } from '../load/stored-events.ts'
import { inFlight, mail, startMailWorld, type MailWorld } from './mail-world.ts'

const adminSecret = randomBytes(32).toString('hex')
const asAdministrator = { 'x-admin-api-secret': adminSecret }
const administration = '/v1/user-management/admin'

/** Events that something waits for: the list of a process. The relay waits for the change itself. */
const handOvers = ['users.updated', 'NotificationCreated'].length
/** Appends before the call of the mail server. */
const appends = ['NotificationAttemptStarted'].length

/**
 * Time from a recorded change of a user to the mail about it, at half of the largest rate. The other side is the sum of
 * the parts. Each part is measured alone at the same rate, on the same servers while nothing is sent.
 */
export const eventToMail: Benchmark = {
  name: 'event-to-mail',
  goals: ['22'],
  about: 'recorded event → mail accepted at half load, p99 over the sum of the p99 of its parts',
  run: async ({ quick }, { compare }) => {
    const count = quick ? 20 : 300
    await withScope(async (scope) => {
      const world = await startMailWorld(scope, { ADMIN_API_SECRET: adminSecret })
      const { platform } = world
      await platform.run(['processor'])
      const driver = await scope.started(startDriver())
      const { userIds, addresses } = await givenRecipients(world, count)
      const changed = async (perSecond: number) => {
        const done = await driver.run({
          kind: 'mailed',
          changes: {
            kind: 'http',
            baseUrl: platform.baseUrl,
            method: 'PATCH',
            paths: userIds.map((id) => `${administration}/users/${id}`),
            headers: { ...platform.headers, ...asAdministrator },
            bodies: [JSON.stringify({ displayName: `Ada ${randomBytes(4).toString('hex')}` })],
            isKeyed: false,
            status: 200,
            makesRecords: false,
            count,
            inFlight,
          },
          addresses,
          mailboxUrl: platform.credentials.mailbox_url ?? '',
          perSecond,
        })
        await world.recorded('email', count)
        await world.empty()
        return done
      }
      await changed(Infinity)
      const perSecond = (await changed(Infinity)).perSecond / 2
      // In the quick form the rate of the parts does not matter, so a higher rate saves time.
      const load = { count, perSecond: quick ? Math.max(perSecond, 20) : perSecond }
      const [visible, handedOver, appended, called] = await partsOf(world, userIds[0] ?? '', load)
      const name = `recorded event → mail accepted at ${perSecond.toFixed(1)} per second, p99`
      await compare({
        goal: '22',
        figures: [{ name, unit: 'ms', goal: atMost(1.5) }],
        ours: { name: 'platform', measure: async () => [(await changed(perSecond)).p99] },
        other: {
          name: 'sum of its parts',
          measure: async () => {
            const first = await driver.run(visible)
            const next = await driver.run(handedOver)
            const alone = await driver.run(appended)
            const outside = await driver.run(called)
            await world.empty()
            return [first.p99 + handOvers * next.p99 + appends * alone.p99 + outside.p99]
          },
        },
        ...(quick ? { rounds: 2 } : {}),
      })
    })
  },
}

/** Members of the client's organisation, and the rule that mails each change of a user to that user. */
async function givenRecipients({ platform, api }: MailWorld, count: number) {
  const organisationId = platform.credentials.org_id
  const create = async (what: string, body: object) => {
    const request = { body: { ...body, organisationId }, headers: asAdministrator }
    return textAt((await expecting(201, api.call(`${administration}/${what}`, request))).body, 'id')
  }
  await create('roles', { name: 'Member', isDefault: true, permissions: ['users:admin'] })
  const addresses = Array.from({ length: count }, (_, number) => `jane-${number}@example.org`)
  const userIds: string[] = []
  for (const email of addresses)
    userIds.push(await create('users', { email, displayName: 'Ada', userType: 'clinician' }))
  const template = { category: 'clinical', phi: false, subject: 'Your account', bodyTemplate: '<p>{{userId}}</p>' }
  await expecting(201, api.call('/v1/notifications/admin/templates/account-changed', { method: 'PUT', body: template }))
  const recipientRule = { type: 'user', path: 'userId' }
  const rule = { eventType: 'users.updated', templateCode: 'account-changed', recipientRule }
  await expecting(201, api.call('/v1/notifications/admin/subscriptions', { body: rule }))
  return { userIds, addresses }
}

/** The jobs that measure the parts: the hand-over to the relay, another one, an append, and the calls outside. */
async function partsOf(
  { platform, smtp }: MailWorld,
  userId: string,
  { count, perSecond }: { readonly count: number; readonly perSecond: number },
) {
  const { baseUrl, credentials, eventStoreUrl: url } = platform
  const databaseUrl = await platform.otherDatabase('bare')
  const events = (await storedEvents(url, users.of(userId).stream)).slice(-1)
  const token = textAt((await requestToken(baseUrl, serviceClientOf(credentials))).body, 'access_token')
  const contact = {
    baseUrl,
    path: `/v1/user-management/users/${userId}/contact?org_id=${credentials.org_id}`,
    headers: { authorization: `Bearer ${token}`, 'cache-control': 'no-cache' },
  }
  const append = { kind: 'append', url, events, count, inFlight: 1 } as const
  const visible = { kind: 'bare-visible', append, databaseUrl, perSecond } as const
  const calls = { kind: 'mail-calls', contact, smtpUrl: smtp.url, mail, perSecond, count } as const
  return [visible, { ...visible, from: 'begun' }, append, calls] as const
}
