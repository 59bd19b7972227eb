import type { Mutant } from './mutant.ts'

const codec = 'test/engine/store/codec.unit.test.ts'
const ownServers = 'test/platform/outbound/own-servers.int.test.ts'

export const securityMutants: readonly Mutant[] = [
  {
    name: 'signature-without-stream',
    fault: 'an event is accepted in another stream',
    file: 'engine/store/signature.ts',
    at: 'createSigner / stringify() / .arguments.0',
    becomes: '[$elements.1, $elements.2, $elements.3, $elements.4]',
    caughtBy: { [codec]: 'it is in another stream' },
  },
  {
    name: 'signature-without-revision',
    fault: 'an event is accepted at another revision of its stream',
    file: 'engine/store/signature.ts',
    at: 'createSigner / stringify() / .arguments.0',
    becomes: '[$elements.0, $elements.2, $elements.3, $elements.4]',
    caughtBy: { [codec]: 'it is at another revision' },
  },
  {
    name: 'signature-without-metadata',
    fault: 'an event is accepted with the metadata of another user',
    file: 'engine/store/signature.ts',
    at: 'createSigner / authenticate() / .arguments.0',
    becomes: '[place, data]',
    caughtBy: { 'test/streams/forged-events.int.test.ts': 'attributed to another user' },
  },
  {
    name: 'own-port-open',
    fault: 'a webhook reaches a server of the platform on this machine',
    file: 'platform/outbound/own-servers.ts',
    at: 'addressesOf / has / if 1 / .consequent',
    becomes: 'return false',
    caughtBy: { [ownServers]: 'no webhook reaches the server of' },
  },
  {
    name: 'own-site-open',
    fault: 'a webhook reaches a host of the platform within the site',
    file: 'platform/outbound/own-servers.ts',
    at: 'addressesOf / has / ||',
    becomes: '$right',
    caughtBy: { [ownServers]: 'inside a site are closed on every port' },
  },
  {
    name: 'control-for-any-secret',
    fault: 'the remote control of the simulator accepts any secret',
    file: 'embedded/provider/server.ts',
    at: 'answer / isSame()',
    becomes: 'true',
    caughtBy: {
      'test/embedded/provider/controls.int.test.ts': 'is refused without the control secret and has no effect',
    },
  },
  {
    name: 'number-rounded',
    fault: 'a whole number beyond 2^53 is stored rounded',
    file: 'platform/http/exact-numbers.ts',
    at: 'isExact / isSafeInteger()',
    becomes: 'true',
    caughtBy: { 'test/platform/http/repeated-members.unit.test.ts': 'has a number that cannot be stored without loss' },
  },
  {
    name: 'simulator-in-production',
    fault: 'production accepts results of the simulator',
    file: 'processes/adapters/provider.ts',
    at: 'createProvider / || 4',
    becomes: 'true',
    caughtBy: { 'test/processes/adapters/provider.int.test.ts': 'is refused in production at its first answer' },
  },
]
