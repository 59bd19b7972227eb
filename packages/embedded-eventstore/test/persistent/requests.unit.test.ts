import persistent from '@eventstore/db-client/generated/persistent_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import { expect, test } from 'vitest'
import { readCreateRequest } from '../../services/persistent-requests.ts'

test('a time in ticks that is no 32 bits of milliseconds counts as the longest', () => {
  const identifier = new shared.StreamIdentifier().setStreamName(Buffer.from('visit-1'))
  const place = new persistent.CreateReq.StreamOptions().setStreamIdentifier(identifier).setStart(new shared.Empty())
  const asked = new persistent.CreateReq.Settings()
    .setConsumerStrategy('RoundRobin')
    .setMessageTimeoutTicks('9223372036854775807')
    .setCheckpointAfterTicks('-9223372036854775808')
  const options = new persistent.CreateReq.Options().setStream(place).setGroupName('group').setSettings(asked)
  const settings = readCreateRequest(new persistent.CreateReq().setOptions(options))
  expect(settings).toMatchObject({ messageTimeout: 0x7fffffff, checkpointAfter: -0x7fffffff })
})
