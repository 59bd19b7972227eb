import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { clientVersion } from '../../../platform/kit/event-store-client.ts'

const require = createRequire(import.meta.url)

test('the client has the version whose non-public parts are used', () => {
  const { version } = require('@eventstore/db-client/package.json') as { version: string }
  expect(
    version,
    'The client has another version. Check each export of platform/kit/event-store-client.ts: the errors, unpackToCommandError, the messages under generated/, callArguments and GRPCStreamCreator. Then check the service definitions of packages/embedded-eventstore/, run its contract suite, and set clientVersion.',
  ).toBe(clientVersion)
})
