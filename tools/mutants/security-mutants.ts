import type { Mutant } from './mutant.ts'

const codec = 'test/streams/store/codec.unit.test.ts'
const ownServers = 'test/platform/outbound/own-servers.int.test.ts'
const provider = 'test/processes/adapters/provider.int.test.ts'

export const securityMutants: readonly Mutant[] = [
  {
    name: 'signature-without-stream',
    fault: 'an event is accepted in another stream',
    file: 'streams/store/signature.ts',
    text: 'JSON.stringify([stream, String(revision)',
    replacement: 'JSON.stringify([String(revision)',
    caughtBy: [{ file: codec, test: 'it is in another stream' }],
  },
  {
    name: 'signature-without-revision',
    fault: 'an event is accepted at another revision of its stream',
    file: 'streams/store/signature.ts',
    text: '[stream, String(revision), id',
    replacement: '[stream, id',
    caughtBy: [{ file: codec, test: 'it is at another revision' }],
  },
  {
    name: 'signature-without-metadata',
    fault: 'an event is accepted with the metadata of another user',
    file: 'streams/store/signature.ts',
    text: '.update(data).update(metadata)',
    replacement: '.update(data)',
    caughtBy: [{ file: 'test/streams/forged-events.int.test.ts', test: 'attributed to another user' }],
  },
  {
    name: 'own-port-open',
    fault: 'a webhook reaches a server of the platform on this machine',
    file: 'platform/outbound/own-servers.ts',
    text: 'if (holds(machine, address)) return machinePorts.has(port)',
    replacement: 'if (holds(machine, address)) return false',
    caughtBy: [{ file: ownServers, test: 'no webhook reaches the server of' }],
  },
  {
    name: 'own-site-open',
    fault: 'a webhook reaches a host of the platform within the site',
    file: 'platform/outbound/own-servers.ts',
    text: 'return holds(site, address) || clusterPorts.has(port)',
    replacement: 'return clusterPorts.has(port)',
    caughtBy: [{ file: ownServers, test: 'inside a site are closed on every port' }],
  },
  {
    name: 'control-for-any-secret',
    fault: 'the remote control of the simulator accepts any secret',
    file: 'embedded/provider/server.ts',
    text: `typeof given !== 'string' || !isSame(given, settings.controlSecret)`,
    replacement: `typeof given !== 'string'`,
    caughtBy: [
      {
        file: 'test/embedded/provider/controls.int.test.ts',
        test: 'is refused without the control secret and has no effect',
      },
    ],
  },
  {
    name: 'number-rounded',
    fault: 'a whole number beyond 2^53 is stored rounded',
    file: 'platform/http/exact-numbers.ts',
    text: 'if (Number.isInteger(value) && !Number.isSafeInteger(value)) return false',
    replacement: '',
    caughtBy: [
      {
        file: 'test/platform/http/repeated-members.unit.test.ts',
        test: 'has a number that cannot be stored without loss',
      },
    ],
  },
  {
    name: 'simulator-in-production',
    fault: 'production accepts results of the simulator',
    file: 'processes/adapters/provider.ts',
    text: `if (server === 'provider' || configuration.profile === 'development') return`,
    replacement: `if (server !== 'unknown') return`,
    caughtBy: [{ file: provider, test: 'is refused in production at its first answer' }],
  },
]
