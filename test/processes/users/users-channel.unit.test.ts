import { expect, it } from 'vitest'
import { publicEvents } from '../../../engine/relay/envelope.ts'
import { usersChannel } from '../../../processes/users/users.channel.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import type { UserEvent } from '../../../streams/user/events.ts'
import { ids } from '../../streams/facts.ts'
import { ofUser, userFact, userIds } from '../../streams/user-facts.ts'
import { recorded } from '../../support/given-projector.ts'
import { storeOf } from '../../support/store-of.ts'

const createdIn = (organisationIds: readonly (typeof ids.org)[]) =>
  published(userFact('UserCreated', { organisationIds: [...organisationIds] }))

async function published(event: UserEvent) {
  const [source] = recorded([ofUser(event)])
  if (source === undefined) throw new Error('nothing recorded')
  const outputs = (await usersChannel.translate[event.type]?.(source, { store: storeOf([]) })) ?? []
  const events = publicEvents(usersChannel, source, outputs)
  for (const { type, data } of events) expect(catalogue.entry(type)?.refusals(data)).toEqual([])
  return events.map(({ data }) => data)
}

it('users.created names the organisation of which the user is a member from the start', async () => {
  expect(await createdIn([ids.org])).toMatchObject([{ orgId: ids.org, organisationIds: [ids.org] }])
  const [without] = await createdIn([])
  expect(without).toMatchObject({ organisationIds: [] })
  expect(without).not.toHaveProperty('orgId')
})

it('access to a product is published with the role of the membership', async () => {
  for (const event of [userFact('UserProductAccessGranted'), userFact('UserProductAccessRevoked')])
    expect(await published(event)).toMatchObject([{ roleId: userIds.role, productId: ids.product }])
})
